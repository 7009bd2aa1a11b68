"""Pulls: what is found and what is not, who waits and who wakes, commits that ride along, the broker to ask next."""

from __future__ import annotations

from typing import Any

import pytest
from broker_play import MS, Shell

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.wire import beans, remoting
from pairproof.reference.wire.bodies import SubscriptionGroupConfig
from pairproof.reference.wire.bodies_client import ConsumerData, HeartbeatData, SubscriptionData
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Blank, decode
from pairproof.reference.wire.remoting import Command

PULL: dict[str, Any] = {
    "consumerGroup": "c", "topic": "T", "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 4,
    "commitOffset": 0, "suspendTimeoutMillis": 15_000, "subVersion": 0, "subscription": "*", "expressionType": "TAG",
}  # fmt: skip
SUSPEND, COMMIT, SUBSCRIBE = 2, 1, 4


def filled(count: int = 3, **settings: Any) -> Shell:
    shell = Shell(SimDisk(), **settings)
    for number in range(count):
        store(shell, tag="ab"[number % 2])
    return shell


def store(shell: Shell, tag: str = "a", body: bytes = b"body") -> None:
    fields = {"a": "g", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
    shell.ask(remoting.encode(Command(310, 9, 0, fields | {"i": f"TAGS\x01{tag}"}, body)), "producer")


def stored_record() -> bytes:
    """A record with a body of 100 bytes, as the log has it."""
    shell = Shell(SimDisk())
    shell.broker.on_accepted("producer", "main")
    store(shell, body=b"x" * 100)
    return shell.broker.log.read(0, shell.broker.log.end)


def pulled(shell: Shell, **values: Any) -> Command | None:
    return shell.request(RequestCode.PULL_MESSAGE, **{**PULL, **values})


def offsets(answer: Command) -> list[int]:
    found, at = [], 0
    while at < len(answer.body):
        record = decode(answer.body, at)
        assert not isinstance(record, Blank)
        found.append(record.queue_offset)
        at += record.size
    return found


@pytest.fixture
def master() -> Shell:
    shell = Shell(SimDisk())
    shell.broker.on_accepted("producer", "main")
    for number in range(4):
        store(shell, tag="ab"[number % 2])
    return shell


@pytest.mark.parametrize(
    ("subscription", "expected"),
    [("*", [0, 1, 2, 3]), ("", [0, 1, 2, 3]), ("a", [0, 2]), ("a || b", [0, 1, 2, 3]), ("z", [])],
)
def test_tags_decide_what_comes_and_the_next_offset_passes_over_the_rest(
    master: Shell, subscription: str, expected: list[int]
) -> None:
    answer = pulled(master, subscription=subscription)
    assert answer is not None and offsets(answer) == expected and answer.fields["nextBeginOffset"] == "4"
    assert answer.code == (remoting.SUCCESS if expected else remoting.PULL_RETRY_IMMEDIATELY)


def test_pull_that_finds_nothing_waits_for_what_it_asked_for(master: Shell) -> None:
    assert pulled(master, queueOffset=4, sysFlag=SUSPEND | SUBSCRIBE, subscription="b") is None
    store(master, tag="a")
    assert not master.answers(), "not the tag"
    store(master, tag="b")
    (answer,) = master.answers()
    assert answer.code == remoting.SUCCESS and offsets(answer) == [5]


def test_pull_that_waits_is_answered_when_its_time_is_up(master: Shell) -> None:
    assert pulled(master, queueOffset=4, sysFlag=SUSPEND | SUBSCRIBE, suspendTimeoutMillis=7_000) is None
    master.ring(5_000)
    assert not master.answers()
    master.ring(10_000)
    assert [answer.code for answer in master.answers()] == [remoting.PULL_NOT_FOUND]
    assert not master.broker.pulling.held


def test_nobody_waits_without_asking_for_it_or_on_a_connection_that_is_gone(master: Shell) -> None:
    assert pulled(master, queueOffset=4) is not None
    assert pulled(master, queueOffset=4, sysFlag=SUSPEND | SUBSCRIBE) is None
    master.broker.on_closed("c")
    assert not master.broker.pulling.held
    store(master)


def test_slave_looks_every_five_seconds_at_pulls_that_wait(master: Shell) -> None:
    slave = Shell(SimDisk(), brokerRole="SLAVE", brokerId=1)
    slave.broker.parts.topics.ensure("T", 4)
    log = master.broker.log
    slave.broker.log.append(0, log.read(0, 4_096))
    slave.broker.store.dispatch()
    assert pulled(slave, queueOffset=4, sysFlag=SUSPEND | SUBSCRIBE) is None
    at = log.end
    store(master)
    slave.broker.log.append(at, log.read(at, 4_096))
    slave.broker.store.dispatch()
    assert not slave.answers()
    slave.ring(5_000)
    assert [offsets(answer) for answer in slave.answers()] == [[4]]


@pytest.mark.parametrize(("role", "kept"), [("ASYNC_MASTER", 7), ("SLAVE", None)])
def test_commit_that_rides_along_is_kept_by_a_master_only(role: str, kept: int | None) -> None:
    shell = Shell(SimDisk(), brokerRole=role, brokerId=int(role == "SLAVE"))
    shell.broker.parts.topics.ensure("T", 4)
    pulled(shell, sysFlag=SUBSCRIBE | COMMIT, commitOffset=7)
    assert shell.broker.parts.offsets.query("c", "T", 0) == kept
    pulled(shell, sysFlag=SUBSCRIBE, commitOffset=9)
    assert shell.broker.parts.offsets.query("c", "T", 0) == kept


@pytest.mark.parametrize(
    ("settings", "offset", "suggested"),
    [
        ({}, 0, "0"),
        ({"totalMemory": 100, "accessMessageInMemoryMaxRatio": 40}, 0, "0"),
        ({"slaveReadEnable": True}, 0, "2"),
        ({"slaveReadEnable": True, "totalMemory": 100}, 0, "3"),
        ({"slaveReadEnable": True, "accessMessageInMemoryMaxRatio": 0}, 3, "3"),
        ({"slaveReadEnable": True, "totalMemory": 100}, 9, "2"),
    ],
)
def test_next_pull_goes_where_backlog_memory_and_group_say(
    settings: dict[str, Any], offset: int, suggested: str
) -> None:
    shell = Shell(SimDisk(), **settings)
    shell.broker.on_accepted("producer", "main")
    shell.broker.parts.groups.put("c", SubscriptionGroupConfig("c", broker_id=2, which_broker_when_consume_slowly=3))
    for _ in range(4):
        store(shell, body=b"x" * 100)
    answer = pulled(shell, queueOffset=offset)
    assert answer is not None and answer.fields["suggestWhichBrokerId"] == suggested


def test_a_reader_is_slow_beyond_forty_percent_of_the_memory_by_bytes_that_need_not_be_flushed() -> None:
    def suggested(memory: int) -> str:
        shell = Shell(SimDisk(), slaveReadEnable=True, totalMemory=memory)
        shell.broker.on_accepted("producer", "main")
        for _ in range(5):
            store(shell, body=b"x" * 100)
        assert shell.broker.log.end == 5 * size and shell.broker.log.flushed == 0
        answer = pulled(shell, maxMsgNums=1)
        assert answer is not None
        return answer.fields["suggestWhichBrokerId"]

    size = len(stored_record())
    # What is read lies five records behind the log's end: 40 % of two and a half times as much.
    enough = -(-5 * size * 5 // 2)
    assert suggested(enough) == "0"
    assert suggested(enough - 3) == "1"


def test_backlog_on_the_disk_comes_in_smaller_pieces() -> None:
    for settings, count in (({}, 20), ({"totalMemory": 10}, 8)):
        shell = Shell(SimDisk(), **settings)
        shell.broker.on_accepted("producer", "main")
        for _ in range(20):
            store(shell)
        answer = pulled(shell)
        assert answer is not None and len(offsets(answer)) == count


def test_pull_without_a_subscription_takes_the_groups(master: Shell) -> None:
    assert pulled(master, sysFlag=0).code == remoting.SUBSCRIPTION_NOT_EXIST  # type: ignore[union-attr]
    topics = (SubscriptionData("T", "b", sub_version=5),)
    beat = HeartbeatData("id", consumer_data_set=(ConsumerData("c", subscription_data_set=topics),))
    master.request(RequestCode.HEART_BEAT, beans.encode(beat))
    answer = pulled(master, sysFlag=0, subVersion=5)
    assert answer is not None and offsets(answer) == [1, 3]
    assert pulled(master, sysFlag=0, subVersion=6).code == remoting.SUBSCRIPTION_NOT_LATEST  # type: ignore[union-attr]
    assert pulled(master, sysFlag=0, topic="TBW102").code == remoting.SUBSCRIPTION_NOT_EXIST  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("group", "code"),
    [
        (SubscriptionGroupConfig("c", consume_enable=False), remoting.NO_PERMISSION),
        (None, remoting.SUBSCRIPTION_GROUP_NOT_EXIST),
    ],
)
def test_group_that_may_not_consume_or_is_none_is_refused(group: SubscriptionGroupConfig | None, code: int) -> None:
    shell = Shell(SimDisk(), autoCreateSubscriptionGroup=False)
    if group is not None:
        shell.broker.parts.groups.put("c", group)
    answer = pulled(shell)
    assert answer is not None and answer.code == code and answer.remark


def test_fast_port_serves_everything_but_pulls(master: Shell) -> None:
    master.broker.on_accepted("f", "fast")
    fast = master.request(RequestCode.PULL_MESSAGE, conn="f", **PULL)
    assert fast is not None and fast.code == remoting.REQUEST_CODE_NOT_SUPPORTED
    assert master.request(RequestCode.GET_MAX_OFFSET, conn="f", topic="T", queueId=0).code == remoting.SUCCESS  # type: ignore[union-attr]


def test_no_more_pulls_wait_than_allowed(master: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.processors.pulling.MAX_HELD", 2)
    answers = [pulled(master, queueOffset=4, sysFlag=SUSPEND | SUBSCRIBE) for _ in range(3)]
    assert answers[:2] == [None, None] and answers[2] is not None and answers[2].code == remoting.PULL_NOT_FOUND
    assert master.timers["hold", None] == 5_000 * MS


def replica(master: Shell, **settings: Any) -> Shell:
    """A slave that has the master's log."""
    slave = Shell(SimDisk(), brokerRole="SLAVE", brokerId=1, **settings)
    slave.broker.parts.topics.ensure("T", 4)
    slave.broker.log.append(0, master.broker.log.read(0, master.broker.log.end))
    slave.broker.store.dispatch()
    return slave


@pytest.mark.parametrize("version", ["4.4.0", "4.9.2", "4.9.7"])
def test_up_to_4_9_a_slave_that_is_not_for_reading_serves_and_suggests_the_master(master: Shell, version: str) -> None:
    slave = replica(master, rocketmqVersion=version, slaveReadEnable=False)
    # A group that wants the slave, and a reader that lags: neither counts.
    slave.broker.parts.groups.put("c", SubscriptionGroupConfig("c", broker_id=1, which_broker_when_consume_slowly=1))
    answer = pulled(slave)
    assert answer is not None and (answer.code, answer.remark) == (remoting.SUCCESS, "FOUND")
    assert offsets(answer) == [0, 1, 2, 3] and answer.fields["suggestWhichBrokerId"] == "0"
    assert answer.body == pulled(master).body  # type: ignore[union-attr]


def test_from_5_on_a_slave_that_is_not_for_reading_is_busy(master: Shell) -> None:
    slave = replica(master, rocketmqVersion="5.5.0", slaveReadEnable=False)
    for offset in (0, 4, 99):
        answer = pulled(slave, queueOffset=offset, sysFlag=SUSPEND | SUBSCRIBE)
        assert answer is not None and answer.code == remoting.SYSTEM_BUSY and not answer.body
        assert "[REJECTREQUEST]" in str(answer.remark) and "slaveReadEnable" in str(answer.remark)
    assert not slave.broker.pulling.held
    for_reading = pulled(replica(master, rocketmqVersion="5.5.0", slaveReadEnable=True))
    assert for_reading is not None and offsets(for_reading) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("version", "memory", "suggested"),
    [("4.9.7", 1 << 30, "2"), ("5.5.0", 1 << 30, "0"), ("4.9.7", 10, "3"), ("5.5.0", 10, "3")],
)
def test_from_5_on_a_slave_sends_home_who_does_not_lag(
    master: Shell, version: str, memory: int, suggested: str
) -> None:
    slave = replica(master, rocketmqVersion=version, slaveReadEnable=True, totalMemory=memory)
    wants = SubscriptionGroupConfig("c", broker_id=2, which_broker_when_consume_slowly=3)
    slave.broker.parts.groups.put("c", wants)
    answer = pulled(slave)
    assert answer is not None and answer.fields["suggestWhichBrokerId"] == suggested
    newer = Shell(SimDisk(), rocketmqVersion="5.5.0", slaveReadEnable=True)
    newer.broker.parts.topics.ensure("T", 4)
    newer.broker.parts.groups.put("c", wants)
    assert pulled(newer).fields["suggestWhichBrokerId"] == "2"  # type: ignore[union-attr]


def test_from_5_on_a_master_serves_whatever_slaves_are_for() -> None:
    shell = Shell(SimDisk(), rocketmqVersion="5.5.0", slaveReadEnable=False)
    shell.broker.on_accepted("producer", "main")
    store(shell)
    answer = pulled(shell)
    assert answer is not None and offsets(answer) == [0]


@pytest.mark.parametrize(("version", "ordinal"), [("4.4.0", 293), ("4.9.2", 397), ("4.9.7", 407), ("5.5.0", 513)])
def test_every_answer_tells_the_broker_s_version(version: str, ordinal: int) -> None:
    shell = Shell(SimDisk(), rocketmqVersion=version)
    answer = shell.request(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)
    assert answer is not None and answer.version == ordinal


@pytest.mark.parametrize(
    ("total", "ratio", "memory"),
    [(17_179_869_184, 40, 6_871_947_673), (20_000, 40, 8_000), (100, 29, 28), (100, 0, 0), (100, 100, 100)],
)
def test_memory_is_the_ratio_of_the_machine_s_as_java_reckons(total: int, ratio: int, memory: int) -> None:
    # 100 * (29 / 100.0) is 28.999999999999996.
    assert BrokerConfig(totalMemory=total, accessMessageInMemoryMaxRatio=ratio).log_memory == memory


def test_a_reader_is_slow_one_byte_beyond_that_and_not_before() -> None:
    shell = Shell(SimDisk(), slaveReadEnable=True)
    shell.broker.on_accepted("producer", "main")
    store(shell, body=b"x" * 100)
    store(shell, body=b"x" * 100)
    lag = shell.broker.log.end
    for total, suggested in ((lag * 10, "0"), ((lag - 1) * 10, "1")):
        config = BrokerConfig(slaveReadEnable=True, totalMemory=total, accessMessageInMemoryMaxRatio=10)
        shell.broker.pulling.reader.memory = config.log_memory
        answer = pulled(shell, maxMsgNums=1)
        assert answer is not None and answer.fields["suggestWhichBrokerId"] == suggested


def test_slave_serves_a_group_that_it_does_not_know_and_keeps_its_table() -> None:
    slave = Shell(SimDisk(), brokerRole="SLAVE", brokerId=1)
    slave.broker.parts.topics.ensure("T", 4)
    version = slave.broker.parts.groups.version
    assert pulled(slave).code == remoting.PULL_NOT_FOUND  # type: ignore[union-attr]
    assert slave.broker.parts.groups.version == version and slave.broker.parts.groups.get("c") is None
