import com.alibaba.fastjson.JSONObject;
import org.apache.rocketmq.client.ClientConfig;

/** What every client of a test is set to: loopback, an instance of its own, and short periods instead of 30 s. */
final class Settings {
    private Settings() {}

    static void apply(ClientConfig config, JSONObject request) {
        config.setNamesrvAddr(request.getString("namesrv"));
        config.setClientIP("127.0.0.1");
        config.setInstanceName(request.getString("client"));
        config.setPollNameServerInterval(500);
        config.setHeartbeatBrokerInterval(1_000);
        config.setPersistConsumerOffsetInterval(500);
    }
}
