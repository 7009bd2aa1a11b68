import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.common.RemotingUtil;

/** A received message as JSON. */
final class Shown {
    private Shown() {}

    static JSONObject message(MessageExt message) {
        return new JSONObject()
            .fluentPut("topic", message.getTopic())
            .fluentPut("broker", message.getBrokerName())
            .fluentPut("queue", message.getQueueId())
            .fluentPut("offset", message.getQueueOffset())
            .fluentPut("physicalOffset", message.getCommitLogOffset())
            .fluentPut("key", message.getKeys())
            .fluentPut("tag", message.getTags())
            .fluentPut("body", new String(message.getBody(), StandardCharsets.UTF_8))
            .fluentPut("msgId", message.getMsgId())
            .fluentPut("offsetMsgId", ((MessageClientExt) message).getOffsetMsgId())
            .fluentPut("storeHost", RemotingUtil.socketAddress2String(message.getStoreHost()).replaceFirst("^/", ""))
            .fluentPut("bornMs", message.getBornTimestamp())
            .fluentPut("storeMs", message.getStoreTimestamp())
            .fluentPut("reconsumed", message.getReconsumeTimes());
    }

    static void say(String client, MessageExt message, String pulledFrom) {
        JSONObject shown = message(message).fluentPut("pulledFrom", pulledFrom);
        Driver.say(new JSONObject().fluentPut("client", client).fluentPut("message", shown));
    }
}
