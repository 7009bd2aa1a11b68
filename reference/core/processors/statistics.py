"""Statistics: runtime information (28), a topic's queues (202), a group's progress (208), a topic's consumers (300).

Offsets and times are read from the store on request. Nothing is sampled: rates, latencies, queue lengths of thread
pools and disk ratios have RocketMQ's keys with 0, or -1 where 0 would be a claim. Messages put are counted since the
store was created, not since the last start. Source: AdminBrokerProcessor, StoreStatsService,
DefaultMessageStore.getRuntimeInfo, ScheduleMessageService.buildRunningStats, MixAll.humanReadableByteCount.
"""

from ...wire import beans, remoting
from ...wire.bodies import GroupList, KVTable
from ...wire.bodies_client import (
    ConsumeStats,
    MessageQueue,
    OffsetWrapper,
    TopicOffset,
    TopicStatsTable,
)
from ..checkpoint import store_ms_at
from ..delay import SCHEDULE_TOPIC, queue_of_level
from ..parts import Parts
from ..requests import Refused, Request

VERSION_NAME = "V4_9_7"
_POOLS = ("sendThreadPoolQueue", "pullThreadPoolQueue", "queryThreadPoolQueue")
_RATES = ("putTps", "getFoundTps", "getMissTps", "getTotalTps", "getTransferedTps")
_TIMES = (
    "<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s", "1~2s", "2~3s", "3~4s", "4~5s",
    "5~10s", "10s~",
)  # fmt: skip
NOT_MEASURED = {
    "commitLogDirCapacity": "Total : unknown, Free : unknown.",
    "commitLogDiskRatio": "-1.0",
    "commitLogDiskRatio_commitlog": "-1.0",
    "consumeQueueDiskRatio": "-1.0",
    "dispatchMaxBuffer": "0",
    "EndTransactionQueueSize": "0",
    "EndTransactionThreadPoolQueueCapacity": "0",
    "getMessageEntireTimeMax": "0",
    "msgGetTotalTodayMorning": "0",
    "msgGetTotalTodayNow": "0",
    "msgGetTotalYesterdayMorning": "0",
    "msgPutTotalTodayMorning": "0",
    "msgPutTotalYesterdayMorning": "0",
    "pageCacheLockTimeMills": "0",
    "putLatency99": "0.00",
    "putLatency999": "0.00",
    "putMessageAverageSize": "0.0",
    "putMessageDistributeTime": "".join(f"[{time}]:0 " for time in _TIMES),
    "putMessageEntireTimeMax": "0",
    "putMessageFailedTimes": "0",
    "putMessageSizeTotal": "0",
    "remainTransientStoreBufferNumbs": str((1 << 31) - 1),
    "startAcceptSendRequestTimeStamp": "0",
    **dict.fromkeys(_RATES, "0.0 0.0 0.0"),
    **{f"{pool}{what}": "0" for pool in _POOLS for what in ("Size", "Capacity", "HeadWaitTimeMills")},
}


class Statistics:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.boot_ms = parts.io.wall_ms()

    def on_runtime_info(self, request: Request) -> None:
        request.answer(body=beans.encode(KVTable(self.runtime_info())))

    def runtime_info(self) -> dict[str, str]:
        store, queues = self.parts.store, self.parts.store.queues
        log = store.log
        puts = 0 if self.parts.config.is_slave else sum(queues.next_offset(*queue) for queue in queues.known())
        levels = self.parts.delay_offsets.table
        return {
            **NOT_MEASURED,
            "bootTimestamp": str(self.boot_ms),
            "brokerVersion": str(remoting.VERSION),
            "brokerVersionDesc": VERSION_NAME,
            "commitLogMaxOffset": str(log.end),
            "commitLogMinOffset": str(log.start if log.files.starts else -1),
            "dispatchBehindBytes": str(log.end - store.dispatcher.at),
            "earliestMessageTimeStamp": str(store_ms_at(log, log.start)),
            "msgPutTotalTodayNow": str(puts),
            "putMessageTimesTotal": str(max(1, puts)),
            **({"remainHowManyDataToCommit": human_bytes(log.written - log.end)} if log.has_pool else {}),
            "remainHowManyDataToFlush": human_bytes(log.end - log.flushed),
            "runtime": _runtime(self.parts.io.wall_ms() - self.boot_ms),
            **{
                f"scheduleMessageOffset_{level}": f"{at},{queues.next_offset(SCHEDULE_TOPIC, queue_of_level(level))}"
                for level, at in levels.items()
            },
        }

    def on_consumers(self, request: Request) -> None:
        """300: groups that subscribe to the topic or have committed progress in it."""
        topic = request.header["topic"]
        groups = {name for name, group in self.parts.clients.consumers.items() if topic in group.subscriptions}
        keys = (key.partition("@") for key in self.parts.offsets.table)
        groups |= {group for name, _, group in keys if name == topic}
        request.answer(body=beans.encode(GroupList(tuple(sorted(groups)))))

    def on_topic(self, request: Request) -> None:
        """202: each writable queue's range and the store time of its last message."""
        name = request.header["topic"]
        topic = self.parts.topics.get(name)
        if topic is None:
            raise Refused(remoting.TOPIC_NOT_EXIST, f"topic[{name:.127}] not exist")
        queues, broker = self.parts.store.queues, self.parts.config.brokerName
        table = {}
        for queue_id in range(topic.write_queue_nums):
            low, high = queues.min_offset(name, queue_id), queues.next_offset(name, queue_id)
            last_ms = self._stored_ms(name, queue_id, high - 1)
            table[MessageQueue(name, broker, queue_id)] = TopicOffset(low, high, last_ms)
        request.answer(body=beans.encode(TopicStatsTable(table)))

    def on_group(self, request: Request) -> None:
        """208: the group's progress in one topic, or in all with progress, except those that it unsubscribed."""
        group, wanted = request.header["consumerGroup"], request.header.get("topic", "").strip()
        offsets, queues = self.parts.offsets, self.parts.store.queues
        names = [wanted] if wanted else [key[: -len(group) - 1] for key in offsets.table if key.endswith(f"@{group}")]
        table = {}
        for name in names:
            topic = self.parts.topics.get(name)
            if topic is None or self._unsubscribed(group, name):
                continue
            for queue_id in range(topic.read_queue_nums):
                done = max(0, offsets.query(group, name, queue_id) or 0)
                last_ms = self._stored_ms(name, queue_id, done - 1)
                at = MessageQueue(name, self.parts.config.brokerName, queue_id)
                table[at] = OffsetWrapper(queues.next_offset(name, queue_id), done, last_ms)
        request.answer(body=beans.encode(ConsumeStats(table)))

    def _unsubscribed(self, group: str, topic: str) -> bool:
        found = self.parts.clients.consumers.get(group)
        return found is not None and bool(found.subscriptions) and topic not in found.subscriptions

    def _stored_ms(self, topic: str, queue_id: int, offset: int) -> int:
        found = self.parts.store.queues.get(topic, queue_id, offset, 1)
        return max(0, self.parts.store.dispatcher.store_ms(found[0])) if found else 0


def human_bytes(size: int) -> str:
    """RocketMQ's format: 221 B, 1.5 KiB."""
    unit, exponent = 1024, 0
    while size >= unit ** (exponent + 1):
        exponent += 1
    return f"{size / unit**exponent:.1f} {'KMGTPE'[exponent - 1]}iB" if exponent else f"{size} B"


def _runtime(ms: int) -> str:
    minutes, seconds = divmod(max(0, ms) // 1_000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"
