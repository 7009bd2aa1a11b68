import java.util.Map;
import java.util.Map.Entry;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.protocol.RequestCode;
import org.apache.rocketmq.common.protocol.header.PullMessageRequestHeader;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Which broker each message came from. A message itself names the master that stored it, whoever served it.
 *
 * <p>The client's own hook shows the address of every pull. A queue has one pull at a time, and a pull that finds something
 * is followed by one from a larger offset: so the last pull from an offset that is not above the message's brought it.
 */
final class Pulls implements RPCHook {
    private static final int MAX_OFFSETS = 10_000;

    private final Map<String, ConcurrentSkipListMap<Long, String>> addresses = new ConcurrentHashMap<>();

    @Override
    public void doBeforeRequest(String address, RemotingCommand request) {
        if (request.getCode() == RequestCode.PULL_MESSAGE) {
            PullMessageRequestHeader header = (PullMessageRequestHeader) request.readCustomHeader();
            ConcurrentSkipListMap<Long, String> queue =
                addresses.computeIfAbsent(key(header.getTopic(), header.getQueueId()), each -> new ConcurrentSkipListMap<>());
            queue.put(header.getQueueOffset(), address);
            if (queue.size() > MAX_OFFSETS) {
                queue.pollFirstEntry();
            }
        }
    }

    @Override
    public void doAfterResponse(String address, RemotingCommand request, RemotingCommand response) {}

    String source(String topic, MessageExt message) {
        ConcurrentSkipListMap<Long, String> queue = addresses.get(key(topic, message.getQueueId()));
        Entry<Long, String> pull = queue == null ? null : queue.floorEntry(message.getQueueOffset());
        return pull == null ? null : pull.getValue();
    }

    /** From where each queue of a topic was last pulled. */
    Map<String, Long> newest(String topic) {
        Map<String, Long> offsets = new TreeMap<>();
        addresses.forEach((key, queue) -> {
            if (key.startsWith(topic + "@")) {
                offsets.put(key, queue.lastKey());
            }
        });
        return offsets;
    }

    private static String key(String topic, int queue) {
        return topic + "@" + queue;
    }
}
