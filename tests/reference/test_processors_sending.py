"""Sends in all their forms: where a message goes, what is stored of it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from broker_play import Shell
from hypothesis import given, settings
from hypothesis import strategies as st
from message_ids import decode as decode_id

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core.processors.transactions import is_half
from pairproof.reference.wire import remoting
from pairproof.reference.wire.bodies import SubscriptionGroupConfig
from pairproof.reference.wire.bodies_client import BatchItem, encode_batch
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.properties import properties_of
from pairproof.reference.wire.record import Record
from pairproof.reference.wire.remoting import Command

HEADER: dict[str, Any] = {
    "producerGroup": "g", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": 4, "queueId": 0,
    "sysFlag": 0, "bornTimestamp": 1, "flag": 0,
}  # fmt: skip
CODES = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2)


@pytest.fixture
def master() -> Shell:
    return Shell(SimDisk())


def sent(shell: Shell, code: int = RequestCode.SEND_MESSAGE_V2, body: bytes = b"body", **values: Any) -> Command:
    answer = shell.request(code, body, **{**HEADER, **values})
    assert answer is not None
    return answer


def stored(shell: Shell, answer: Command) -> list[Record]:
    offsets = [decode_id(each)[1] for each in answer.fields["msgId"].split(",")]
    found = [shell.broker.store.record_at(offset) for offset in offsets]
    return [each for each in found if each is not None]


@pytest.mark.parametrize("code", CODES)
def test_both_forms_of_a_send_store_the_same_message(master: Shell, code: int) -> None:
    answer = sent(master, code, properties="TAGS\x01a", reconsumeTimes=2, flag=7)
    (record,) = stored(master, answer)
    message = record.message
    assert (message.topic, message.body, message.flag, message.reconsume_times) == ("T", b"body", 7, 2)
    assert properties_of(message.properties) == {"TAGS": "a", "CLUSTER": "DefaultCluster"}
    assert answer.fields["MSG_REGION"] == "DefaultRegion" and answer.fields["TRACE_ON"] == "true"


def test_topic_is_made_after_the_template_and_its_queues_bound_the_next_sends(master: Shell) -> None:
    assert sent(master, defaultTopicQueueNums=3, queueId=2).code == remoting.SUCCESS
    topic = master.broker.parts.topics.get("T")
    assert topic is not None and (topic.write_queue_nums, topic.perm) == (3, 6)
    assert sent(master, queueId=3).code == remoting.SYSTEM_ERROR


def test_without_automatic_creation_an_unknown_topic_is_refused() -> None:
    shell = Shell(SimDisk(), autoCreateTopicEnable=False)
    answer = sent(shell)
    assert answer.code == remoting.TOPIC_NOT_EXIST and answer.remark and shell.broker.log.end == 0


@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"])
def test_the_systems_own_topics_take_no_sends(master: Shell, topic: str) -> None:
    assert sent(master, topic=topic).code == remoting.NO_PERMISSION and master.broker.log.end == 0


def test_queue_below_zero_leaves_the_choice_to_the_broker(master: Shell) -> None:
    queues = {sent(master, queueId=-1).fields["queueId"] for _ in range(8)}
    assert queues == {"0", "1", "2", "3"}


def test_batch_is_stored_as_single_messages_with_dense_offsets(master: Shell) -> None:
    items = [BatchItem(b"one", b"KEYS\x01a"), BatchItem(b"two", b"KEYS\x01b", 5), BatchItem(b"three")]
    answer = sent(master, RequestCode.SEND_BATCH_MESSAGE, encode_batch(items), batch=True, properties="X\x01y")
    records = stored(master, answer)
    assert answer.code == remoting.SUCCESS and answer.fields["queueOffset"] == "0"
    assert [each.message.body for each in records] == [b"one", b"two", b"three"]
    assert [each.queue_offset for each in records] == [0, 1, 2]
    assert [properties_of(each.message.properties).get("X") for each in records] == ["y"] * 3
    assert records[1].message.flag == 5


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0" * 7,
        encode_batch([BatchItem(b"x", b"DELAY\x011")]),
        encode_batch([BatchItem(b"x", b"TRAN_MSG\x01true")]),
    ],
    ids=["empty", "torn", "delayed", "half"],
)
def test_batch_that_is_none_or_asks_for_what_batches_cannot_is_illegal(master: Shell, body: bytes) -> None:
    assert sent(master, RequestCode.SEND_BATCH_MESSAGE, body, batch=True).code == remoting.MESSAGE_ILLEGAL
    assert master.broker.log.end == 0


def test_batch_with_one_message_too_large_stores_none(master: Shell) -> None:
    body = encode_batch([BatchItem(b"fits"), BatchItem(b"x" * 5_000)])
    assert sent(master, RequestCode.SEND_BATCH_MESSAGE, body, batch=True).code == remoting.MESSAGE_ILLEGAL
    assert master.broker.log.end == 0


@pytest.mark.parametrize(("level", "queue"), [("1", 0), ("18", 17), ("99", 17)])
def test_delayed_message_waits_in_the_queue_of_its_level(master: Shell, level: str, queue: int) -> None:
    answer = sent(master, queueId=1, properties=f"TAGS\x01a\x02DELAY\x01{level}")
    (record,) = stored(master, answer)
    assert (record.message.topic, record.message.queue_id) == ("SCHEDULE_TOPIC_XXXX", queue)
    properties = properties_of(record.message.properties)
    assert properties["REAL_TOPIC"] == "T" and properties["REAL_QID"] == "1" and answer.fields["queueId"] == "1"


@pytest.mark.parametrize("level", ["0", "-1", "soon"])
def test_no_level_is_no_delay(master: Shell, level: str) -> None:
    (record,) = stored(master, sent(master, properties=f"DELAY\x01{level}"))
    assert record.message.topic == "T"


def test_half_message_is_in_nobodys_queue(master: Shell) -> None:
    answer = sent(master, properties="TRAN_MSG\x01true", sysFlag=4)
    (record,) = stored(master, answer)
    assert record.message.topic == "RMQ_SYS_TRANS_HALF_TOPIC"
    assert ("T", 0) not in master.broker.store.queues
    assert is_half(record.message._replace(sys_flag=4)), "the mark stays on it"


def test_message_retried_too_often_goes_to_the_dead_letters(master: Shell) -> None:
    master.broker.parts.groups.put("c", SubscriptionGroupConfig("c", retry_max_times=2))
    fresh = sent(master, topic="%RETRY%c", reconsumeTimes=1)
    dead = sent(master, topic="%RETRY%c", reconsumeTimes=2)
    assert [stored(master, each)[0].message.topic for each in (fresh, dead)] == ["%RETRY%c", "%DLQ%c"]
    own = sent(master, topic="%RETRY%c", reconsumeTimes=1, maxReconsumeTimes=1)
    assert stored(master, own)[0].message.topic == "%DLQ%c"


def test_slave_refuses_and_makes_no_topic() -> None:
    slave = Shell(SimDisk(), brokerRole="SLAVE", brokerId=1)
    version = slave.broker.parts.topics.version
    for code in (*CODES, RequestCode.SEND_BATCH_MESSAGE):
        assert sent(slave, code).code == remoting.SERVICE_NOT_AVAILABLE
    back = slave.request(RequestCode.CONSUMER_SEND_MSG_BACK, offset=0, group="c", delayLevel=0)
    assert back is not None and back.code == remoting.SYSTEM_ERROR
    topics = slave.broker.parts.topics
    assert slave.broker.log.end == 0 and topics.version == version and topics.get("%RETRY%c") is None


def test_message_sent_back_is_delayed_by_its_retries_and_ends_among_the_dead(master: Shell) -> None:
    where = decode_id(sent(master, properties="TAGS\x01a").fields["msgId"])[1]
    back = RequestCode.CONSUMER_SEND_MSG_BACK
    answer = master.request(back, offset=where, group="c", delayLevel=0, originTopic="T")
    assert answer is not None and answer.code == remoting.SUCCESS
    queues = master.broker.store.queues
    (entry,) = queues.get("SCHEDULE_TOPIC_XXXX", 2, 0, 9)
    again = master.broker.store.record_at(entry.physical_offset)
    assert again is not None and again.message.reconsume_times == 1
    properties = properties_of(again.message.properties)
    assert (properties["REAL_TOPIC"], properties["RETRY_TOPIC"], properties["TAGS"]) == ("%RETRY%c", "T", "a")
    for values in ({"delayLevel": -1}, {"delayLevel": 0, "maxReconsumeTimes": 0}):
        master.request(back, offset=where, group="c", **values)
    assert queues.next_offset("%DLQ%c", 0) == 2
    missing = master.request(back, offset=where + 1, group="c", delayLevel=0)
    assert missing is not None and missing.code == remoting.SYSTEM_ERROR and missing.remark


TEXT = st.text(max_size=12)


@given(
    topic=TEXT,
    queue=st.integers(-(2**31), 2**31 - 1),
    properties=TEXT,
    flags=st.integers(0, 2**31 - 1),
    body=st.binary(max_size=40),
)
@settings(max_examples=150)
def test_whatever_a_send_says_it_is_answered_and_the_log_stays_whole(
    topic: str, queue: int, properties: str, flags: int, body: bytes
) -> None:
    shell = Shell(SimDisk())
    for code in (*CODES, RequestCode.SEND_BATCH_MESSAGE):
        answer = sent(shell, code, body, topic=topic, queueId=queue, properties=properties, sysFlag=flags)
        assert answer.code == remoting.SUCCESS or answer.remark
    assert shell.broker.store.dispatcher.at == shell.broker.log.end
