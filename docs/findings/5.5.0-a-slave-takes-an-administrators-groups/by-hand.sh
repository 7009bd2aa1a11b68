#!/bin/sh
# slave, a slave, took the group g0
# Usage: sh by-hand.sh LIB, the folder with the jars of RocketMQ 5.5.0. Needs a JDK (11 or later). Writes to the
# folder run beside it, and listens on 127.0.0.1.
set -u
LIB=${1:?usage: sh by-hand.sh LIB}
cd "$(dirname "$0")" && rm -rf run && mkdir -p run/conf && cd run || exit 1
for each in broker namesrv tools; do echo '<configuration/>' > conf/logback_$each.xml; done
FLAGS="-Xms128m -Xmx256m -XX:MaxDirectMemorySize=256m -XX:+UseSerialGC -Duser.home=$PWD -Drocketmq.home.dir=$PWD
  -Drmq.logback.configurationFile=$PWD/conf/logback_broker.xml
  -Drocketmq.broker.diskSpaceWarningLevelRatio=0.99 -Drocketmq.namesrv.addr=127.0.0.1:9876
  --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED"
start() {
  case $1 in names) main=namesrv.NamesrvStartup ;; *) main=broker.BrokerStartup ;; esac
  java $FLAGS -cp "$LIB/*" org.apache.rocketmq.$main -c "$1.conf" > "$1.out" 2>&1 & echo $! > "$1.pid"
  for each in $(seq 120); do grep -q 'boot success' "$1.out" && return; sleep 0.5; done
  echo "$1 did not start:" && cat "$1.out"
}
signal() { kill -s "$1" "$(cat "$2.pid")"; }
ended() { while kill -s 0 "$(cat "$1.pid")" 2> /dev/null; do sleep 0.1; done; }
admin() {
  echo "mqadmin $*"
  java $FLAGS -cp "$LIB/*" org.apache.rocketmq.tools.command.MQAdminStartup "$@" -n 127.0.0.1:9876 2>&1 | grep -v WARN
}
send() { java $FLAGS -cp "$LIB/*" Steps.java send pairproof "$@"; }
consume() { java $FLAGS -cp "$LIB/*" Steps.java consume pairproof "$@" & echo $! > "$1-$CONSUMER.pid"; sleep 5; }
trap 'for each in *.pid; do kill -s KILL "$(cat "$each")" 2> /dev/null; done' EXIT

cat > master.conf <<'END'
waitTimeMillsInSendQueue=5000
osPageCacheBusyTimeOutMills=10000
diskMaxUsedSpaceRatio=98
transactionMetricFlushInterval=100
timerWheelEnable=false
brokerName=broker-a
brokerRole=SYNC_MASTER
haSendHeartbeatInterval=500
mappedFileSizeCommitLog=65536
maxMessageSize=32768
mappedFileSizeConsumeQueue=2000
maxHashSlotNum=1000
maxIndexNum=4000
listenPort=10911
haListenPort=10912
brokerIP1=127.0.0.1
bindAddress=127.0.0.1
namesrvAddr=127.0.0.1:9876
storePathRootDir=master
storePathCommitLog=master/commitlog
END
cat > slave.conf <<'END'
waitTimeMillsInSendQueue=5000
osPageCacheBusyTimeOutMills=10000
diskMaxUsedSpaceRatio=98
transactionMetricFlushInterval=100
timerWheelEnable=false
brokerName=broker-a
brokerId=1
brokerRole=SLAVE
haSendHeartbeatInterval=500
mappedFileSizeCommitLog=65536
maxMessageSize=32768
mappedFileSizeConsumeQueue=2000
maxHashSlotNum=1000
maxIndexNum=4000
listenPort=20911
haListenPort=20912
brokerIP1=127.0.0.1
bindAddress=127.0.0.1
namesrvAddr=127.0.0.1:9876
storePathRootDir=slave
storePathCommitLog=slave/commitlog
END
cat > names.conf <<'END'
listenPort=9876
bindAddress=127.0.0.1
END
cat > Steps.java <<'END'
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
END

start names
start master
start slave
admin updateTopic -b 127.0.0.1:10911 -t pairproof -r 4 -w 4
sleep 25

admin updateSubGroup -b 127.0.0.1:20911 -g g0 -s true -m true -d true -q 1 -r 16 -a true -i 1 -w 1
sleep 1

# What the brokers have now.
sleep 25
for each in topics subscriptionGroup consumerOffset delayOffset; do
  for node in master slave; do echo "$each.json of the $node: $(cat $node/config/$each.json | tr -d '[:space:]')"; done
done
admin topicStatus -t pairproof
