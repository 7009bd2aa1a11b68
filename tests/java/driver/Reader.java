import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Reads every queue of "topic" from its first to its last offset and changes nothing.
 *
 * <p>Answers with a queue each: {"queue", "min", "max", "committed" (of "group"; negative: none), "messages"}.
 */
@SuppressWarnings("deprecation")
final class Reader {
    private static final int BATCH = 32;

    private Reader() {}

    static JSONArray read(JSONObject request) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(request.getString("group"));
        Settings.apply(consumer, request);
        consumer.start();
        try {
            JSONArray queues = new JSONArray();
            for (MessageQueue each : new TreeSet<>(consumer.fetchSubscribeMessageQueues(request.getString("topic")))) {
                queues.add(queue(consumer, each));
            }
            return queues;
        } finally {
            consumer.shutdown();
        }
    }

    private static JSONObject queue(DefaultMQPullConsumer consumer, MessageQueue queue) throws Exception {
        long min = consumer.minOffset(queue);
        long max = consumer.maxOffset(queue);
        JSONArray messages = new JSONArray();
        long offset = min;
        while (offset < max) {
            PullResult result = consumer.pull(queue, "*", offset, BATCH);
            if (result.getNextBeginOffset() <= offset) {
                throw new IllegalStateException("reading " + queue + " does not get past " + offset + ": " + result);
            }
            if (result.getMsgFoundList() != null) {
                for (MessageExt each : result.getMsgFoundList()) {
                    messages.add(Shown.message(each));
                }
            }
            offset = result.getNextBeginOffset();
        }
        return new JSONObject()
            .fluentPut("queue", queue.getQueueId())
            .fluentPut("min", min)
            .fluentPut("max", max)
            .fluentPut("committed", consumer.fetchConsumeOffset(queue, true))
            .fluentPut("messages", messages);
    }
}
