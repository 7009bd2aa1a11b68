"""Conversations with a broker's main port: what clients send, what they are answered, what hostile ones achieve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from broker_play import HEADER, Shell, pull, send
from hypothesis import given, settings
from hypothesis import strategies as st
from message_ids import decode as decode_id

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core import command_peers
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.errors import ConfigError
from pairproof.reference.wire import remoting
from pairproof.reference.wire.ha import encode_header, encode_report
from pairproof.reference.wire.record import Record, decode
from pairproof.reference.wire.remoting import Command


@pytest.fixture
def shell(make_disk: Callable[..., Any]) -> Callable[..., Shell]:
    return lambda **settings: Shell(make_disk(), **settings)


def with_slave(shell: Shell) -> Shell:
    shell.broker.on_accepted("s", "ha")
    shell.broker.on_bytes("s", encode_report(shell.broker.log.end))
    return shell


def test_async_master_answers_at_once_and_the_message_can_be_pulled(shell: Callable[..., Shell]) -> None:
    master = shell()
    master.put(7)
    answer = master.answers()[0]
    assert (answer.code, answer.opaque, answer.fields["queueOffset"]) == (remoting.SUCCESS, 7, "0")
    assert decode_id(answer.fields["msgId"])[1] == 0
    master.ask(pull(8, 0))
    found = master.answers()[1]
    record = decode(found.body)
    assert found.code == remoting.SUCCESS and found.fields["nextBeginOffset"] == "1"
    assert isinstance(record, Record) and record.message.body == b"body"


def test_stored_properties_are_those_of_4_9_with_cluster_and_without_wait(shell: Callable[..., Shell]) -> None:
    master = shell()
    master.put(wait=False)
    record = decode(master.broker.log.read(0, 4_096))
    assert isinstance(record, Record) and record.message.properties == b"KEYS\x01k\x02CLUSTER\x01DefaultCluster"


def test_sync_master_without_a_slave_says_so_and_stores_all_the_same(shell: Callable[..., Shell]) -> None:
    master = shell(brokerRole="SYNC_MASTER")
    master.put()
    assert master.answers()[0].code == remoting.SLAVE_NOT_AVAILABLE and master.broker.log.end > 0
    master.put(2, wait=False)
    assert master.answers()[1].code == remoting.SUCCESS


def test_sync_master_answers_when_the_slave_reported_the_last_byte_and_not_before(shell: Callable[..., Shell]) -> None:
    master = with_slave(shell(brokerRole="SYNC_MASTER"))
    master.put()
    end = master.broker.log.end
    master.broker.on_bytes("s", encode_report(end - 1))
    assert master.answers() == []
    master.broker.on_bytes("s", encode_report(end))
    assert master.answers()[0].code == remoting.SUCCESS


def test_sync_master_gives_up_after_slave_timeout(shell: Callable[..., Shell]) -> None:
    master = with_slave(shell(brokerRole="SYNC_MASTER"))
    master.put()
    master.ring(2_999)
    assert master.answers() == []
    master.ring(3_000)
    assert master.answers()[0].code == remoting.FLUSH_SLAVE_TIMEOUT


def test_sync_flush_answers_when_the_flush_ended(shell: Callable[..., Shell]) -> None:
    master = shell(flushDiskType="SYNC_FLUSH")
    master.put()
    assert master.answers() == []
    master.broker.on_flushed(master.log_flushes[0])
    assert master.answers()[0].code == remoting.SUCCESS
    assert master.broker.log.flushed == master.broker.log.end


def test_flush_covers_only_what_was_there_when_it_began(shell: Callable[..., Shell]) -> None:
    master = shell(flushDiskType="SYNC_FLUSH")
    master.put(1)
    master.put(2)
    master.broker.on_flushed(master.log_flushes[0])
    assert [answer.opaque for answer in master.answers()] == [1]
    master.broker.on_flushed(master.log_flushes[1])
    assert [answer.opaque for answer in master.answers()] == [1, 2]


def test_flush_that_never_ends_is_a_flush_disk_timeout(shell: Callable[..., Shell]) -> None:
    master = shell(flushDiskType="SYNC_FLUSH")
    master.put()
    master.ring(5_000)
    assert master.answers()[0].code == remoting.FLUSH_DISK_TIMEOUT


def test_replica_status_overrides_the_flush_status(shell: Callable[..., Shell]) -> None:
    master = with_slave(shell(brokerRole="SYNC_MASTER", flushDiskType="SYNC_FLUSH"))
    master.put()
    master.ring(5_000)
    assert master.answers()[0].code == remoting.FLUSH_SLAVE_TIMEOUT


def test_async_flush_happens_an_interval_after_the_first_unflushed_byte(shell: Callable[..., Shell]) -> None:
    master = shell()
    master.put(1)
    master.put(2)
    master.ring(499)
    assert master.log_flushes == []
    master.ring(500)
    assert master.log_flushes == [master.broker.log.end]


def test_send_that_waits_for_a_slave_hurries_the_flush_where_only_flushed_bytes_are_pushed(
    shell: Callable[..., Shell],
) -> None:
    master = with_slave(shell(brokerRole="SYNC_MASTER", haPushes="flushed"))
    master.put(1)
    end = master.broker.log.end
    assert master.log_flushes == [end] and "s" not in master.sent
    master.put(2)
    master.broker.on_flushed(end)
    assert master.sent["s"][:12] == encode_header(0, end) and len(master.sent["s"]) == 12 + end
    assert master.log_flushes == [end, master.broker.log.end]


@pytest.mark.parametrize("changes", [{"haPushes": "written"}, {"brokerRole": "ASYNC_MASTER"}])
def test_nobody_else_hurries_the_flush(shell: Callable[..., Shell], changes: dict[str, str]) -> None:
    master = with_slave(shell(**{"brokerRole": "SYNC_MASTER", "haPushes": "flushed", **changes}))
    master.put(1)
    assert master.log_flushes == []
    master.ring(500)
    assert master.log_flushes == [master.broker.log.end]
    master.broker.on_flushed(master.broker.log.end)
    assert len(master.sent["s"]) > 12


def test_version_5_waits_for_nobody_unless_in_sync_replicas_say_so(shell: Callable[..., Shell]) -> None:
    alone = shell(brokerRole="SYNC_MASTER", rocketmqVersion="5.5.0")
    alone.put()
    assert alone.answers()[0].code == remoting.SUCCESS
    waiting = shell(brokerRole="SYNC_MASTER", rocketmqVersion="5.5.0", inSyncReplicas=2)
    waiting.put()
    assert waiting.answers() == []
    waiting.ring(3_000)
    assert waiting.answers()[0].code == remoting.FLUSH_SLAVE_TIMEOUT


def test_slave_takes_no_messages(shell: Callable[..., Shell]) -> None:
    slave = shell(brokerRole="SLAVE", brokerId=1)
    slave.put()
    assert slave.answers()[0].code == remoting.SERVICE_NOT_AVAILABLE and slave.broker.log.end == 0


@pytest.mark.parametrize(
    ("offset", "on_master", "on_slave"),
    [
        (0, (remoting.SUCCESS, "2"), (remoting.SUCCESS, "2")),
        (2, (remoting.PULL_NOT_FOUND, "2"), (remoting.PULL_NOT_FOUND, "2")),
        (9, (remoting.PULL_OFFSET_MOVED, "2"), (remoting.PULL_RETRY_IMMEDIATELY, "9")),
    ],
)
def test_pull_says_how_to_go_on(
    shell: Callable[..., Shell], offset: int, on_master: tuple[int, str], on_slave: tuple[int, str]
) -> None:
    master, slave = shell(), shell(brokerRole="SLAVE", brokerId=1)
    master.put(1)
    master.put(2)
    slave.broker.log.append(0, master.broker.log.read(0, 4_096))
    slave.broker.store.dispatch()
    slave.broker.parts.topics.ensure("T", 4)
    for node, (code, following) in ((master, on_master), (slave, on_slave)):
        before = len(node.answers())
        node.ask(pull(3, offset))
        answer = node.answers()[before]
        assert (answer.code, answer.fields["nextBeginOffset"]) == (code, following)
        assert answer.fields["maxOffset"] == "2"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (send(topic="white space"), remoting.MESSAGE_ILLEGAL),
        (send(topic="x" * 128), remoting.MESSAGE_ILLEGAL),
        (send(topic="newline\n"), remoting.MESSAGE_ILLEGAL),
        (send(queue_id=8), remoting.SYSTEM_ERROR),
        (send(body=b"x" * 5_000), remoting.MESSAGE_ILLEGAL),
        (remoting.encode(Command(310, 1, 0, {})), remoting.SYSTEM_ERROR),
        (remoting.encode(Command(310, 1, 0, HEADER | {"e": "many"})), remoting.SYSTEM_ERROR),
        (remoting.encode(Command(11, 1, 0, {"topic": "T"})), remoting.SYSTEM_ERROR),
        (remoting.encode(Command(4_711, 1, 0, {})), remoting.REQUEST_CODE_NOT_SUPPORTED),
    ],
)
def test_bad_requests_get_a_code_a_remark_and_store_nothing(
    shell: Callable[..., Shell], frame: bytes, code: int
) -> None:
    master = shell()
    master.ask(frame)
    answer = master.answers()[0]
    assert answer.code == code and answer.remark and master.broker.log.end == 0
    master.put(2)
    assert master.answers()[1].code == remoting.SUCCESS


@pytest.mark.parametrize(
    ("value", "waits"), [("true", True), ("TRUE", True), ("false", False), ("FALSE", False), ("no", False)]
)
def test_wait_is_read_as_java_reads_a_boolean(shell: Callable[..., Shell], value: str, waits: bool) -> None:
    master = shell(brokerRole="SYNC_MASTER")
    fields = HEADER | {"i": f"NOWAIT\x01false\x02WAIT\x01{value}"}
    master.ask(remoting.encode(Command(310, 1, 0, fields)))
    assert master.answers()[0].code == (remoting.SLAVE_NOT_AVAILABLE if waits else remoting.SUCCESS)


@pytest.mark.parametrize("flag", [remoting.RESPONSE_FLAG, remoting.ONEWAY_FLAG])
def test_oneway_is_done_and_a_response_ignored_and_neither_is_answered(shell: Callable[..., Shell], flag: int) -> None:
    master = shell()
    master.ask(remoting.encode(Command(310, 1, flag, HEADER, b"body")))
    assert master.answers() == [] and (master.broker.log.end > 0) == (flag == remoting.ONEWAY_FLAG)


def test_expired_messages_leave_their_queue_and_no_offset_is_given_twice(shell: Callable[..., Shell]) -> None:
    master = shell()
    for opaque in range(30):
        master.put(opaque, body=b"x" * 300)
    master.broker.expire(1)
    start = master.broker.log.start
    assert master.starts == [start] and 0 < start < master.broker.log.end
    master.ask(pull(99, 0))
    moved = master.answers()[30]
    first = int(moved.fields["minOffset"])
    assert moved.code == remoting.PULL_OFFSET_MOVED and 0 < first == int(moved.fields["nextBeginOffset"])
    master.ask(pull(100, first))
    record = decode(master.answers()[31].body)
    assert isinstance(record, Record) and record.queue_offset == first and record.physical_offset >= start
    master.put(101)
    assert master.answers()[32].fields["queueOffset"] == "30"


def test_nothing_expires_while_the_log_has_no_more_files_than_to_keep(shell: Callable[..., Shell]) -> None:
    master = shell()
    master.put()
    master.broker.expire(1)
    assert master.starts == [] and master.broker.log.start == 0
    shell().broker.expire(1)


@pytest.mark.parametrize("offset", [5, -5, 2**62])
def test_pull_from_an_empty_queue_is_sent_back_to_its_beginning(shell: Callable[..., Shell], offset: int) -> None:
    master = shell()
    master.put(1)
    master.ask(pull(2, offset, queue_id=1))
    answer = master.answers()[1]
    assert (answer.code, answer.fields["nextBeginOffset"]) == (remoting.PULL_OFFSET_MOVED, "0")


def test_pull_of_an_unknown_topic_or_queue_is_refused(shell: Callable[..., Shell]) -> None:
    master = shell()
    master.ask(pull(1, 0))
    master.put(2)
    master.ask(pull(3, 0, queue_id=4))
    assert [answer.code for answer in master.answers()] == [remoting.TOPIC_NOT_EXIST, 0, remoting.SYSTEM_ERROR]


def test_pull_of_no_messages_gets_one(shell: Callable[..., Shell]) -> None:
    master = shell()
    master.put(1)
    master.ask(pull(2, 0, limit=0))
    answer = master.answers()[1]
    assert (answer.code, answer.fields["nextBeginOffset"]) == (remoting.SUCCESS, "1")


@pytest.mark.parametrize("field", ["١", "1_0", " 1", "1.0", ""])
def test_number_that_java_would_not_read_is_refused(shell: Callable[..., Shell], field: str) -> None:
    master = shell()
    master.ask(remoting.encode(Command(310, 1, 0, HEADER | {"e": field})))
    assert master.answers()[0].code == remoting.SYSTEM_ERROR and master.broker.log.end == 0


def test_full_disk_refuses_with_service_not_available(make_disk: Callable[..., Any]) -> None:
    master = Shell(make_disk(1))
    master.put()
    assert master.answers()[0].code == remoting.SERVICE_NOT_AVAILABLE and master.broker.log.end == 0


def test_queue_without_room_gives_no_offset_twice(make_disk: Callable[..., Any]) -> None:
    # Room for abort and the log, not for the queue's file: the message is stored, and waits for its queue.
    disk = make_disk(2)
    master = Shell(disk, messageIndexEnable=False)
    master.put(1)
    master.put(2)
    assert [answer.code for answer in master.answers()] == [remoting.SUCCESS, remoting.SERVICE_NOT_AVAILABLE]
    disk.room = 100
    master.put(3)
    assert [answer.fields.get("queueOffset") for answer in master.answers()] == ["0", None, "1"]


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 8, (2**31 - 1).to_bytes(4, "big") + b"\0" * 4]
)
def test_garbage_ends_that_connection_and_no_other(shell: Callable[..., Shell], garbage: bytes) -> None:
    master = shell()
    master.broker.on_accepted("d", "main")
    master.ask(garbage)
    assert master.closed == ["c"]
    master.ask(send(), "d")
    assert master.answers("d")[0].code == remoting.SUCCESS


@given(st.lists(st.binary(max_size=80), max_size=6), st.booleans())
@settings(max_examples=150)
def test_random_bytes_on_either_port_never_raise_nor_grow_the_log(pieces: list[bytes], on_ha: bool) -> None:
    master = Shell(SimDisk())
    conn = "h" if on_ha else "c"
    if on_ha:
        master.broker.on_accepted("h", "ha")
    for piece in pieces:
        if conn not in master.closed:
            master.ask(piece, conn)
    assert master.broker.log.end == 0 and master.broker.ha.push_offset == 0


def test_client_that_never_reads_is_dropped_before_it_fills_the_memory(
    shell: Callable[..., Shell], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_peers, "MAX_HELD", 1_000)
    master = shell()
    master.room = 0
    for opaque in range(20):
        master.put(opaque)
    assert master.closed == ["c"] and "c" not in master.broker.peers
    assert master.broker.log.end < 1_000, "what is asked while answers wait is not done"


def test_slow_client_gets_everything_in_order_once_it_reads(shell: Callable[..., Shell]) -> None:
    master = shell()
    master.room = 3
    master.put(1)
    master.put(2)
    master.room = None
    master.broker.on_writable("c")
    assert [answer.opaque for answer in master.answers()] == [1, 2]


def test_clean_stop_is_recovered_normally_and_a_crash_abnormally(make_disk: Callable[..., Any]) -> None:
    disk = make_disk()
    first = Shell(disk)
    first.put()
    end = first.broker.log.end
    assert first.broker.store.recovery == "empty"
    crashed = Shell(disk)
    assert crashed.broker.store.recovery == "abnormal" and crashed.broker.log.end == end
    crashed.broker.on_stop()
    assert Shell(disk).broker.store.recovery == "normal"


def test_properties_file_with_an_unknown_key_or_value_is_refused() -> None:
    good = BrokerConfig.from_properties({"brokerRole": "SYNC_MASTER", "slaveTimeout": "100"})
    assert good.slaveTimeout == 100 and good.haSendHeartbeatInterval == 5_000
    for key, value in (
        ("slaveTimeOut", "1"),
        ("slaveTimeout", "soon"),
        ("slaveTimeout", "0"),
        ("brokerRole", "KING"),
        ("slaveTimeout", 2.7),
        ("slaveTimeout", True),
        ("brokerIP1", "::1"),
    ):
        with pytest.raises(ConfigError, match=key):
            BrokerConfig.from_properties({key: value})


def test_slave_without_an_id_of_its_own_is_refused() -> None:
    assert BrokerConfig(brokerRole="SLAVE", brokerId=1).is_slave
    with pytest.raises(ConfigError, match="a SLAVE needs a brokerId above 0"):
        BrokerConfig(brokerRole="SLAVE")
