import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Lets a test drive unmodified RocketMQ clients: a JSON object a line on stdin, a JSON object a line on stdout.
 *
 * <p>A request is {"id": n, "do": what, ...}. Its answer is {"id": n, "answer": ...} or {"id": n, "error": text}. Requests
 * run side by side, so answers may come in another order. What a consumer gets comes unasked as {"client": name, "message": ...}.
 *
 * <p>"start" makes the client "client" of the kind "kind" (producer, push, lite, load); "stop" ends it; "admin" runs mqadmin;
 * "read" reads whole queues; anything else goes to the client that it names. The end of stdin ends the process.
 */
public final class Driver {
    private static final int THREADS = 8;
    private static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    private final Map<String, Client> clients = new ConcurrentHashMap<>();

    /** A RocketMQ client under a name. */
    interface Client {
        Object ask(JSONObject request) throws Exception;

        void close();
    }

    public static void main(String[] args) throws Exception {
        // What libraries print must not get between the answers.
        System.setOut(System.err);
        Driver driver = new Driver();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        say(new JSONObject().fluentPut("ready", true));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JSONObject request = JSON.parseObject(line);
            threads.execute(() -> say(driver.answer(request)));
        }
        Runtime.getRuntime().halt(0);
    }

    /** Write one line; consumers' threads call this, too. */
    static void say(JSONObject what) {
        String line = JSON.toJSONString(what);
        synchronized (OUT) {
            OUT.println(line);
        }
    }

    private JSONObject answer(JSONObject request) {
        JSONObject answer = new JSONObject().fluentPut("id", request.get("id"));
        try {
            return answer.fluentPut("answer", run(request));
        } catch (Throwable why) {
            why.printStackTrace();
            return answer.fluentPut("error", why.toString());
        }
    }

    private Object run(JSONObject request) throws Exception {
        switch (request.getString("do")) {
            case "start":
                clients.put(request.getString("client"), make(request));
                return null;
            case "stop":
                clients.remove(request.getString("client")).close();
                return null;
            case "admin":
                return Admin.run(request.getJSONArray("args").toArray(new String[0]));
            case "read":
                return Reader.read(request);
            default:
                return clients.get(request.getString("client")).ask(request);
        }
    }

    private static Client make(JSONObject request) throws Exception {
        switch (request.getString("kind")) {
            case "producer":
                return new Producer(request);
            case "load":
                return new Load(request);
            case "push":
                return new PushConsumer(request);
            case "lite":
                return new LitePullConsumer(request);
            default:
                throw new IllegalArgumentException("no such kind of client: " + request.getString("kind"));
        }
    }
}
