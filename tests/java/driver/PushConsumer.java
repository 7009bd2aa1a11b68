import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;

/**
 * A DefaultMQPushConsumer that says every message. A new group begins with the first message.
 *
 * <p>"model" is CLUSTERING or BROADCASTING, "orderly" true or false, "tags" an expression; a message whose key is in
 * "failOnce" is sent back the first time, to come again in a second. "suspend" and "resume" stop and restart pulling,
 * "commit" sends the group's offsets now instead of in some seconds, "pulls" answers with the offset of the newest pull of
 * each queue of "topic", in no particular order.
 */
final class PushConsumer implements Driver.Client {
    private static final int ONE_SECOND = 1;
    private static final int FINISH_MS = 5_000;

    private final String name;
    private final DefaultMQPushConsumer consumer;
    private final Pulls pulls = new Pulls();
    private final Set<String> failOnce = ConcurrentHashMap.newKeySet();

    PushConsumer(JSONObject request) throws Exception {
        name = request.getString("client");
        consumer = new DefaultMQPushConsumer(request.getString("group"), pulls, new AllocateMessageQueueAveragely());
        Settings.apply(consumer, request);
        // Else what was just said may be committed or not.
        consumer.setAwaitTerminationMillisWhenShutdown(FINISH_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMessageModel(MessageModel.valueOf(request.getString("model")));
        consumer.subscribe(request.getString("topic"), request.getString("tags"));
        for (Object key : (JSONArray) request.getOrDefault("failOnce", new JSONArray())) {
            failOnce.add((String) key);
        }
        if (request.getBooleanValue("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                messages.forEach(this::say);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                messages.forEach(this::say);
                context.setDelayLevelWhenNextConsume(ONE_SECOND);
                boolean fails = messages.stream().anyMatch(each -> failOnce.remove(each.getKeys()));
                return fails ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
    }

    private void say(MessageExt message) {
        // A message that comes again has its first topic's name, but was pulled from the group's retry topic.
        String topic = message.getReconsumeTimes() > 0 ? "%RETRY%" + consumer.getConsumerGroup() : message.getTopic();
        Shown.say(name, message, pulls.source(topic, message));
    }

    @Override
    public Object ask(JSONObject request) {
        switch (request.getString("do")) {
            case "suspend":
                consumer.suspend();
                return null;
            case "resume":
                consumer.resume();
                return null;
            case "commit":
                consumer.getDefaultMQPushConsumerImpl().persistConsumerOffset();
                return null;
            case "pulls":
                return pulls.newest(request.getString("topic")).values();
            default:
                throw new IllegalArgumentException("a push consumer cannot " + request.getString("do"));
        }
    }

    @Override
    public void close() {
        consumer.shutdown();
    }
}
