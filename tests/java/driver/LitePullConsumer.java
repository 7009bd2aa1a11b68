import com.alibaba.fastjson.JSONObject;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** A DefaultLitePullConsumer that polls all the time and says every message; offsets are committed by "commit" only. */
final class LitePullConsumer implements Driver.Client {
    private static final int POLL_MS = 100;

    private final String name;
    private final DefaultLitePullConsumer consumer;
    private final Pulls pulls = new Pulls();
    private final Thread thread = new Thread(this::poll);
    private volatile boolean closed;

    LitePullConsumer(JSONObject request) throws Exception {
        name = request.getString("client");
        consumer = new DefaultLitePullConsumer(request.getString("group"), pulls);
        Settings.apply(consumer, request);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(false);
        consumer.subscribe(request.getString("topic"), request.getString("tags"));
        consumer.start();
        thread.start();
    }

    private void poll() {
        while (!closed) {
            for (MessageExt each : consumer.poll(POLL_MS)) {
                Shown.say(name, each, pulls.source(each.getTopic(), each));
            }
        }
    }

    @Override
    public Object ask(JSONObject request) throws Exception {
        if (!request.getString("do").equals("commit")) {
            throw new IllegalArgumentException("a lite pull consumer cannot " + request.getString("do"));
        }
        consumer.commit(consumer.assignment(), true);
        return null;
    }

    @Override
    public void close() {
        closed = true;
        try {
            thread.join();
        } catch (InterruptedException why) {
            Thread.currentThread().interrupt();
        }
        consumer.shutdown();
    }
}
