"""Transactions: half messages stay hidden, an end commits or drops them, and nobody ends another one's."""

from __future__ import annotations

from typing import Any

import pytest
from message_ids import decode as decode_id
from processor_play import SLAVE, Play

from pairproof.reference.core.processors import transactions
from pairproof.reference.core.processors.transactions import COMMIT, PENDING, PREPARED, ROLLBACK, half_message, is_half
from pairproof.reference.errors import CodecError, StoreFull
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.ha import encode_report
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.properties import properties_of
from pairproof.reference.wire.record import Message, Record
from pairproof.reference.wire.remoting import Command

HALF, OP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
PREPARE = "TRAN_MSG\x01true\x02PGROUP\x01P\x02TAGS\x01a\x02UNIQ_KEY\x01U"


def prepare(play: Play, properties: str = PREPARE, **changes: Any) -> dict[str, Any]:
    """Send a half message; what ends it."""
    sent = play.produce(properties=properties, **changes)
    at = decode_id(sent["msgId"])[1]
    return {
        "producerGroup": "P", "msgId": sent["msgId"], "commitLogOffset": at,
        "tranStateTableOffset": sent["queueOffset"],
    }  # fmt: skip


def end(play: Play, half: dict[str, Any], decision: int, **changes: Any) -> Command:
    return play.ask(RequestCode.END_TRANSACTION, **{**half, "commitOrRollback": decision, **changes})


def stored(play: Play, topic: str) -> list[Record]:
    return [record for record in play.records() if record.message.topic == topic]


def counts(play: Play) -> list[int]:
    """Messages in the real queue, in the half topic's and in that of ended ones, as consumers would see them."""
    return [stored_count(play, topic, queue) for topic, queue in (("T", 2), (HALF, 0), (OP, 0))]


def stored_count(play: Play, topic: str, queue_id: int) -> int:
    return int(play.parts.store.queues.next_offset(topic, queue_id))


def test_half_message_waits_in_the_half_topic_and_in_no_other_queue() -> None:
    play = Play()
    prepare(play, queue_id=2)
    assert counts(play) == [0, 1, 0]
    (record,) = play.records()
    message = record.message
    assert (message.topic, message.queue_id, message.sys_flag) == (HALF, 0, 0)
    properties = properties_of(message.properties)
    assert (properties["REAL_TOPIC"], properties["REAL_QID"], properties["TRAN_MSG"]) == ("T", "2", "true")


def test_commit_stores_the_message_in_its_queue_and_notes_the_half_one_as_ended() -> None:
    play = Play()
    half = prepare(play, queue_id=2, body=b"real")
    assert end(play, half, COMMIT).code == remoting.SUCCESS
    assert counts(play) == [1, 1, 1]
    (before,), (after,), (op,) = stored(play, HALF), stored(play, "T"), stored(play, OP)
    message = after.message
    assert (message.topic, message.queue_id, message.body, message.sys_flag) == ("T", 2, b"real", COMMIT)
    assert message.prepared_offset == before.physical_offset
    assert message.properties == before.message.properties
    assert (message.born_ms, message.born_host) == (before.message.born_ms, before.message.born_host)
    assert (op.message.queue_id, op.message.body) == (0, b"0")
    assert properties_of(op.message.properties) == {"TAGS": "d"}


def test_rollback_only_notes_the_half_message_as_ended() -> None:
    play = Play()
    prepare(play, queue_id=2)
    half = prepare(play, queue_id=2)
    assert end(play, half, ROLLBACK).code == remoting.SUCCESS
    assert counts(play) == [0, 2, 1]
    assert stored(play, OP)[0].message.body == b"1"


def test_pending_transaction_is_answered_and_stays_pending() -> None:
    play = Play()
    half = prepare(play, queue_id=2)
    assert end(play, half, PENDING).code == remoting.SUCCESS
    assert counts(play) == [0, 1, 0]
    assert end(play, half, COMMIT).code == remoting.SUCCESS and counts(play) == [1, 1, 1]


def test_committed_message_keeps_its_flags_besides_the_transaction_s() -> None:
    half = half_message(Message("T", 1, b"", sys_flag=0x1 | PREPARED, reconsume_times=2, flag=5))
    assert (half.sys_flag, half.reconsume_times, half.flag) == (0x1, 2, 5)
    record = Record(100, 0, 7, 0, 0, half)
    assert transactions.committed_message(record).sys_flag == 0x1 | COMMIT


def test_oneway_end_as_clients_send_it_is_done() -> None:
    play = Play()
    half = prepare(play, queue_id=2)
    fields = headers.encode_request(RequestCode.END_TRANSACTION, {**half, "commitOrRollback": COMMIT})
    assert play.feed("c", Command(RequestCode.END_TRANSACTION, 1, remoting.ONEWAY_FLAG, fields)) is None
    assert counts(play) == [1, 1, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"producerGroup": "Q"},
        {"tranStateTableOffset": 1},
        {"commitLogOffset": 1},
        {"commitLogOffset": 100_000},
        {"commitLogOffset": -1},
        {"commitOrRollback": 4},
        {"commitOrRollback": 16},
    ],
)
def test_end_that_does_not_fit_its_half_message_is_refused_and_stores_nothing(wrong: dict[str, Any]) -> None:
    play = Play()
    half = prepare(play, queue_id=2)
    before = play.broker.log.end
    answer = end(play, half, COMMIT, **wrong)
    assert answer.code == remoting.SYSTEM_ERROR and answer.remark and play.broker.log.end == before
    assert end(play, half, COMMIT).code == remoting.SUCCESS


@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_ordinary_message_cannot_be_committed_again(decision: int) -> None:
    play = Play()
    sent = play.produce(properties="PGROUP\x01P\x02REAL_TOPIC\x01T\x02REAL_QID\x012")
    at = decode_id(sent["msgId"])[1]
    half = {"producerGroup": "P", "tranStateTableOffset": 0, "commitLogOffset": at, "msgId": sent["msgId"]}
    assert end(play, half, decision).code == remoting.SYSTEM_ERROR and len(play.records()) == 1


@pytest.mark.parametrize("queue", ["", "-1", "two", "²", "9" * 12])
def test_half_message_without_a_real_queue_is_refused(queue: str) -> None:
    properties = f"REAL_TOPIC\x01T\x02REAL_QID\x01{queue}".encode()
    with pytest.raises(CodecError):
        transactions.committed_message(Record(100, 0, 7, 0, 0, Message(HALF, 0, b"", properties)))


def test_slave_ends_no_transaction() -> None:
    master, slave = Play(), Play(**SLAVE)
    half = prepare(master, queue_id=2)
    slave.broker.log.append(0, master.broker.log.read(0, 4_096))
    slave.broker.store.dispatch()
    before = slave.broker.log.end
    answer = end(slave, half, COMMIT)
    assert answer.code == remoting.SLAVE_NOT_AVAILABLE and slave.broker.log.end == before
    assert counts(slave) == [0, 1, 0]


def test_commit_is_answered_when_a_slave_has_it_as_for_any_send() -> None:
    play = Play(brokerRole="SYNC_MASTER")
    play.broker.on_accepted("s", "ha")
    play.broker.on_bytes("s", encode_report(0))
    properties = f"{PREPARE}\x02WAIT\x01false"
    half = prepare(play, properties, queue_id=2)
    fields = headers.encode_request(RequestCode.END_TRANSACTION, {**half, "commitOrRollback": COMMIT})
    assert play.feed("c", Command(RequestCode.END_TRANSACTION, 77, 0, fields)) is None
    play.sent.clear()
    (after,) = stored(play, "T")
    play.broker.on_bytes("s", encode_report(after.physical_offset + after.size))
    (answer,) = remoting.CommandReader().feed(play.sent["c"])
    assert (answer.opaque, answer.code) == (77, remoting.SUCCESS)


def test_commit_that_is_stored_but_on_no_slave_is_a_success_all_the_same() -> None:
    play = Play(brokerRole="SYNC_MASTER")
    half = prepare(play, f"{PREPARE}\x02WAIT\x01false", queue_id=2)
    assert end(play, half, COMMIT).code == remoting.SUCCESS and counts(play) == [1, 1, 1]


@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_end_without_room_on_the_disk_is_refused(decision: int) -> None:
    play = Play()
    half = prepare(play, queue_id=2)
    while play.broker.log.end % 4_096 < 3_900:
        play.produce(body=b"x" * 50)
    play.disk.room = 0
    assert end(play, half, decision).code == remoting.SERVICE_NOT_AVAILABLE
    assert stored_count(play, "T", 2) == 0
    play.disk.room = 100
    assert end(play, half, decision).code == remoting.SUCCESS


def test_committed_message_is_never_called_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    half, put = prepare(play, queue_id=2), play.parts.puts.put

    def full_for_ended(message: Message) -> Any:
        if message.topic == OP:
            raise StoreFull("full")
        return put(message)

    monkeypatch.setattr(play.parts.puts, "put", full_for_ended)
    assert end(play, half, COMMIT).code == remoting.SUCCESS and counts(play) == [1, 1, 0]
    assert end(play, half, ROLLBACK).code == remoting.SERVICE_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("properties", "changes", "expected"),
    [
        ("TRAN_MSG\x01true", {}, True),
        ("TRAN_MSG\x01TRUE\x02TAGS\x01a", {}, True),
        ("", {"sys_flag": PREPARED}, True),
        ("", {"sys_flag": PREPARED | 1}, True),
        ("TRAN_MSG\x01false", {}, False),
        ("MY_TRAN_MSG\x01true", {}, False),
        ("", {}, False),
        ("", {"sys_flag": COMMIT}, False),
        ("", {"sys_flag": ROLLBACK}, False),
        ("TRAN_MSG\x01true\x02DELAY\x013", {"reconsume_times": 1}, False),
        ("TRAN_MSG\x01true\x02DELAY\x013", {}, True),
        ("TRAN_MSG\x01true", {"reconsume_times": 1}, True),
    ],
)
def test_half_messages_are_told_from_others(properties: str, changes: dict[str, Any], expected: bool) -> None:
    assert is_half(Message("T", 0, b"", properties.encode(), **changes)) == expected


def test_half_message_loses_its_delay() -> None:
    play = Play()
    half = prepare(play, f"{PREPARE}\x02DELAY\x013", queue_id=2)
    assert counts(play) == [0, 1, 0]
    end(play, half, COMMIT)
    assert counts(play) == [1, 1, 1]
