import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** send TOPIC QUEUE SIZE COUNT LEVEL WAIT | consume TOPIC GROUP MODE TAGS EVERY TIMES LEVEL MOST */
public class Steps {
    public static void main(String[] a) throws Exception {
        if (a[0].equals("send")) {
            DefaultMQProducer producer = new DefaultMQProducer("by-hand");
            producer.start();
            List<Message> messages = new ArrayList<>();
            for (int i = 0; i < Integer.parseInt(a[4]); i++) {
                Message message = new Message(a[1], "", "k" + System.nanoTime(), new byte[Integer.parseInt(a[3])]);
                message.setDelayTimeLevel(Integer.parseInt(a[5]));
                message.setWaitStoreMsgOK(Boolean.parseBoolean(a[6]));
                messages.add(message);
            }
            for (MessageQueue each : producer.fetchPublishMessageQueues(a[1])) {
                if (each.getQueueId() == Integer.parseInt(a[2])) {
                    try {
                        boolean one = messages.size() == 1;
                        System.out.println(one ? producer.send(messages.get(0), each) : producer.send(messages, each));
                    } catch (Exception why) {
                        System.out.println("the send failed: " + why);
                    }
                }
            }
            producer.shutdown();
            return;
        }
        int every = Integer.parseInt(a[5]), times = Integer.parseInt(a[6]), level = Integer.parseInt(a[7]);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(a[2]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.setMaxReconsumeTimes(Integer.parseInt(a[8]));
        // Its package differs between 4.x and 5.x.
        var model = consumer.getMessageModel();
        consumer.setMessageModel(model.valueOf(a[3].equals("broadcasting") ? "BROADCASTING" : "CLUSTERING"));
        consumer.subscribe(a[1], a[4]);
        if (a[3].equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (found, context) -> {
                takes(a[2], found.get(0), "");
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (found, context) -> {
                MessageExt message = found.get(0);
                boolean fails = every > 0 && message.getQueueOffset() % every == 0 && message.getReconsumeTimes() < times;
                takes(a[2], message, fails ? " and sends it back" : "");
                context.setDelayLevelWhenNextConsume(level);
                return fails ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        Runtime.getRuntime().addShutdownHook(new Thread(consumer::shutdown));
    }

    static void takes(String group, MessageExt message, String more) {
        int queue = message.getQueueId();
        System.out.println(group + " consumes " + message.getKeys() + " of queue " + queue + ", offset "
            + message.getQueueOffset() + ", retry " + message.getReconsumeTimes() + more);
    }
}
