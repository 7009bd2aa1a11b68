"""What a broker tells about itself: the same keys as RocketMQ 4.9.7, and numbers that are those of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from processor_play import SLAVE, Play, consumer

from pairproof.reference.core.processors.statistics import human_bytes
from pairproof.reference.wire import beans, remoting
from pairproof.reference.wire.bodies import GroupList, KVTable
from pairproof.reference.wire.bodies_client import (
    ConsumeStats,
    OffsetWrapper,
    TopicOffset,
    TopicStatsTable,
)
from pairproof.reference.wire.headers import RequestCode


def info(play: Play) -> dict[str, str]:
    return beans.decode(KVTable, play.ask(RequestCode.GET_BROKER_RUNTIME_INFO).body).table


def topic_stats(play: Play, topic: str = "T") -> dict[int, TopicOffset]:
    body = play.ask(RequestCode.GET_TOPIC_STATS_INFO, topic=topic).body
    table = beans.decode(TopicStatsTable, body).offset_table
    assert all((queue.topic, queue.broker_name) == (topic, "broker-a") for queue in table)
    return {queue.queue_id: each for queue, each in table.items()}


def consume_stats(play: Play, **fields: Any) -> dict[tuple[str, int], OffsetWrapper]:
    body = play.ask(RequestCode.GET_CONSUME_STATS, consumerGroup="G", **fields).body
    found = beans.decode(ConsumeStats, body)
    assert found.consume_tps == 0.0
    return {(queue.topic, queue.queue_id): each for queue, each in found.offset_table.items()}


# Runtime information.


def test_runtime_information_has_exactly_the_keys_of_the_captured_broker(golden: Path) -> None:
    raw = (golden / "remoting" / "admin--master.bin").read_bytes()
    tables = [
        beans.decode(KVTable, command.body).table
        for command in remoting.CommandReader().feed(raw)
        if b'"bootTimestamp"' in command.body
    ]
    play = Play()
    play.parts.delay_offsets.put(1, 2)
    assert len(tables) == 1
    # The broker's folder, and what it calls its log there.
    assert {key.replace("store/commitlog", "commitlog") for key in tables[0]} == set(info(play))


def test_every_value_that_tools_read_as_a_number_is_one() -> None:
    values = info(Play())
    for key in ("putTps", "getTransferedTps", "getTotalTps", "commitLogDiskRatio", "consumeQueueDiskRatio"):
        assert float(values[key].split(" ")[0]) <= 0
    for key in ("earliestMessageTimeStamp", "pageCacheLockTimeMills", "sendThreadPoolQueueSize", "brokerVersion"):
        int(values[key])
    assert (values["brokerVersion"], values["brokerVersionDesc"]) == ("407", "V4_9_7")


def test_runtime_information_of_an_empty_store() -> None:
    values = info(Play())
    assert (values["commitLogMinOffset"], values["commitLogMaxOffset"]) == ("-1", "0")
    assert (values["earliestMessageTimeStamp"], values["dispatchBehindBytes"]) == ("-1", "0")
    assert (values["msgPutTotalTodayNow"], values["remainHowManyDataToFlush"]) == ("0", "0 B")


def test_runtime_information_follows_log_clock_and_deliveries() -> None:
    play = Play()
    boot_ms = play.wall_ms()
    play.wait(3_661)
    for _ in range(40):
        play.produce(body=b"x" * 300)
    log = play.broker.log
    values = info(play)
    assert values["remainHowManyDataToFlush"] == f"{log.end / 1024:.1f} KiB"
    assert (values["bootTimestamp"], values["runtime"]) == (
        str(boot_ms), "[ 0 days, 1 hours, 1 minutes, 1 seconds ]",
    )  # fmt: skip
    assert values["earliestMessageTimeStamp"] == str(play.wall_ms())
    assert values["msgPutTotalTodayNow"] == values["putMessageTimesTotal"] == "40"
    play.broker.expire(1)
    play.parts.delay_offsets.put(3, 7)
    values = info(play)
    assert (values["commitLogMinOffset"], values["commitLogMaxOffset"]) == (str(log.start), str(log.end))
    assert log.start > 0 and values["msgPutTotalTodayNow"] == "40"
    assert values["scheduleMessageOffset_3"] == "7,0"


def test_slave_that_cannot_dispatch_says_how_far_it_is_behind_and_that_it_put_nothing() -> None:
    master, slave = Play(), Play(**SLAVE)
    master.produce()
    data = master.broker.log.read(0, 4_096)
    slave.broker.log.append(0, data + b"\xff" * 20)
    slave.broker.store.dispatch()
    values = info(slave)
    assert values["dispatchBehindBytes"] == "20" and values["msgPutTotalTodayNow"] == "0"
    assert values["commitLogMaxOffset"] == str(len(data) + 20)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (1 << 62, "4.0 EiB")],
)
def test_sizes_are_written_as_rocketmq_writes_them(size: int, text: str) -> None:
    assert human_bytes(size) == text


# Queues of a topic.


def test_topic_s_queues_have_their_ranges_and_the_time_of_their_last_message() -> None:
    play = Play()
    play.produce()
    play.wait(1)
    play.produce()
    play.produce(queue_id=2)
    now = play.wall_ms()
    nothing = TopicOffset(0, 0, 0)
    assert topic_stats(play) == {0: TopicOffset(0, 2, now), 1: nothing, 2: TopicOffset(0, 1, now), 3: nothing}


def test_queue_whose_messages_have_expired_keeps_its_range_without_a_time() -> None:
    play = Play()
    play.produce(queue_id=1)
    for _ in range(40):
        play.produce(body=b"x" * 300)
    play.broker.expire(1)
    assert topic_stats(play)[1] == TopicOffset(1, 1, 0)


def test_unknown_topic_has_no_statistics() -> None:
    answer = Play().ask(RequestCode.GET_TOPIC_STATS_INFO, topic="unknown")
    assert answer.code == remoting.TOPIC_NOT_EXIST and answer.remark


# Progress of a group.


def test_group_s_progress_in_every_topic_where_it_has_any() -> None:
    play = Play()
    for topic in ("T", "U", "V"):
        play.produce(topic)
        play.produce(topic)
    now = play.wall_ms()
    play.parts.offsets.commit("G", "T", 0, 2)
    play.parts.offsets.commit("G", "U", 1, 0)
    play.parts.offsets.commit("H", "V", 0, 1)
    play.parts.offsets.commit("G", "gone", 0, 1)
    found = consume_stats(play)
    assert found.pop(("T", 0)) == OffsetWrapper(2, 2, now)
    assert found.pop(("U", 0)) == OffsetWrapper(2, 0, 0)
    assert found == {(topic, queue): OffsetWrapper(0, 0, 0) for topic in "TU" for queue in (1, 2, 3)}
    assert set(consume_stats(play, topic="V")) == {("V", queue) for queue in range(4)}


def test_topic_that_live_members_do_not_take_any_more_is_left_out() -> None:
    play = Play()
    for topic in ("T", "U"):
        play.produce(topic)
        play.parts.offsets.commit("G", topic, 0, 1)
    play.ask(RequestCode.HEART_BEAT, consumer("c1", "U"), "c1")
    assert {topic for topic, _ in consume_stats(play)} == {"U"}
    play.end("c1")
    assert {topic for topic, _ in consume_stats(play)} == {"T", "U"}


def test_group_that_nobody_knows_has_no_progress() -> None:
    assert consume_stats(Play()) == {}


def test_a_topics_groups_are_those_that_subscribe_or_have_progress() -> None:
    play = Play()
    play.parts.offsets.commit("old", "T", 0, 3)
    play.parts.offsets.commit("elsewhere", "U", 0, 3)
    play.ask(RequestCode.HEART_BEAT, body=consumer("live", "T"))
    body = play.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, topic="T").body
    assert beans.decode(GroupList, body).group_list == ("G", "old")
