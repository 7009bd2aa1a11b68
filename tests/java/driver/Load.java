import com.alibaba.fastjson.JSONObject;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A DefaultMQProducer that keeps "inFlight" asynchronous sends of "size" bytes going for "ms" milliseconds.
 *
 * <p>"run" sends to the first "queues" queues of "topic" at "broker", and answers with {"sent", "elapsedNs", "p50Ns", "p99Ns"}.
 * Anything but SEND_OK is an error.
 */
final class Load implements Driver.Client {
    private final DefaultMQProducer producer;

    Load(JSONObject request) throws Exception {
        producer = new DefaultMQProducer(request.getString("group"));
        Settings.apply(producer, request);
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.start();
    }

    @Override
    public Object ask(JSONObject request) throws Exception {
        List<MessageQueue> queues = new ArrayList<>();
        for (int i = 0; i < request.getIntValue("queues"); i++) {
            queues.add(new MessageQueue(request.getString("topic"), request.getString("broker"), i));
        }
        int inFlight = request.getIntValue("inFlight");
        Semaphore free = new Semaphore(inFlight);
        ConcurrentLinkedQueue<Long> took = new ConcurrentLinkedQueue<>();
        AtomicLong failed = new AtomicLong();
        long began = System.nanoTime();
        long ends = began + request.getLongValue("ms") * 1_000_000;
        int sent = 0;
        while (System.nanoTime() < ends) {
            free.acquire();
            Message message = new Message(request.getString("topic"), "TagA", new byte[request.getIntValue("size")]);
            producer.send(message, queues.get(sent++ % queues.size()), new Took(free, took, failed));
        }
        free.acquire(inFlight);
        long elapsed = System.nanoTime() - began;
        if (failed.get() > 0) {
            throw new IllegalStateException(failed + " of " + sent + " sends did not end with SEND_OK");
        }
        List<Long> sorted = new ArrayList<>(took);
        sorted.sort(null);
        return new JSONObject()
            .fluentPut("sent", sent)
            .fluentPut("elapsedNs", elapsed)
            .fluentPut("p50Ns", sorted.get(sent / 2))
            .fluentPut("p99Ns", sorted.get(sent * 99 / 100));
    }

    /** Notes how long one send took. */
    private static final class Took implements SendCallback {
        private final Semaphore free;
        private final ConcurrentLinkedQueue<Long> took;
        private final AtomicLong failed;
        private final long began = System.nanoTime();

        Took(Semaphore free, ConcurrentLinkedQueue<Long> took, AtomicLong failed) {
            this.free = free;
            this.took = took;
            this.failed = failed;
        }

        @Override
        public void onSuccess(SendResult sent) {
            if (sent.getSendStatus() != SendStatus.SEND_OK) {
                failed.incrementAndGet();
            }
            took.add(System.nanoTime() - began);
            free.release();
        }

        @Override
        public void onException(Throwable why) {
            failed.incrementAndGet();
            took.add(System.nanoTime() - began);
            free.release();
        }
    }

    @Override
    public void close() {
        producer.shutdown();
    }
}
