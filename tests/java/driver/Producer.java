import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * A DefaultMQProducer that never tries again by itself.
 *
 * <p>"send": "way" is sync, async, oneway, batch or ordered; "messages" are {"key", "body", "tag", "delay", "shard"}, all text
 * but for the delay level and the shard, of which only key and body must be there. Ordered: messages of one shard go to one
 * queue. Answers with a result a send, so with one for a batch and none for one-way messages.
 */
final class Producer implements Driver.Client {
    private static final int TIMEOUT_MS = 10_000;

    private final DefaultMQProducer producer;

    Producer(JSONObject request) throws Exception {
        producer = new DefaultMQProducer(request.getString("group"));
        Settings.apply(producer, request);
        producer.setSendMsgTimeout(TIMEOUT_MS);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.start();
    }

    @Override
    public Object ask(JSONObject request) throws Exception {
        List<JSONObject> given = request.getJSONArray("messages").toJavaList(JSONObject.class);
        List<Message> messages = new ArrayList<>();
        for (JSONObject each : given) {
            messages.add(message(request.getString("topic"), each));
        }
        JSONArray results = new JSONArray();
        switch (request.getString("way")) {
            case "sync":
                for (Message each : messages) {
                    results.add(shown(producer.send(each)));
                }
                break;
            case "async":
                for (CompletableFuture<SendResult> each : sendAsync(messages)) {
                    results.add(shown(each.get(TIMEOUT_MS, TimeUnit.MILLISECONDS)));
                }
                break;
            case "oneway":
                for (Message each : messages) {
                    producer.sendOneway(each);
                }
                break;
            case "batch":
                results.add(shown(producer.send(messages)));
                break;
            case "ordered":
                for (int i = 0; i < messages.size(); i++) {
                    results.add(shown(producer.send(
                        messages.get(i), (queues, message, shard) -> queues.get((int) shard % queues.size()), given.get(i).getInteger("shard"))));
                }
                break;
            default:
                throw new IllegalArgumentException("no such way to send: " + request.getString("way"));
        }
        return results;
    }

    private List<CompletableFuture<SendResult>> sendAsync(List<Message> messages) throws Exception {
        List<CompletableFuture<SendResult>> results = new ArrayList<>();
        for (Message each : messages) {
            CompletableFuture<SendResult> result = new CompletableFuture<>();
            results.add(result);
            producer.send(each, new SendCallback() {
                @Override
                public void onSuccess(SendResult sent) {
                    result.complete(sent);
                }

                @Override
                public void onException(Throwable why) {
                    result.completeExceptionally(why);
                }
            });
        }
        return results;
    }

    private static Message message(String topic, JSONObject given) {
        byte[] body = given.getString("body").getBytes(StandardCharsets.UTF_8);
        Message message = new Message(topic, given.getString("tag"), given.getString("key"), body);
        if (given.containsKey("delay")) {
            message.setDelayTimeLevel(given.getInteger("delay"));
        }
        return message;
    }

    private static JSONObject shown(SendResult result) {
        return new JSONObject()
            .fluentPut("status", result.getSendStatus().name())
            .fluentPut("msgId", result.getMsgId())
            .fluentPut("offsetMsgId", result.getOffsetMsgId())
            .fluentPut("broker", result.getMessageQueue().getBrokerName())
            .fluentPut("queue", result.getMessageQueue().getQueueId())
            .fluentPut("offset", result.getQueueOffset());
    }

    @Override
    public void close() {
        producer.shutdown();
    }
}
