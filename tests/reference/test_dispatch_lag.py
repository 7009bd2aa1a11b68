"""Queues and index that lag behind the log, since the thread that derives them gets no time: what may be seen of it."""

from __future__ import annotations

from typing import Any

import pytest
from processor_play import SLAVE, Play
from store_play import TreeDisk

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.reference.core.store import DISPATCH
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.bodies_client import BatchItem, encode_batch
from pairproof.reference.wire.ha import encode_header
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Record, decode
from pairproof.reference.wire.remoting import Command

PULL: dict[str, Any] = {
    "consumerGroup": "G", "topic": "T", "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 4,
    "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0, "subscription": "*", "expressionType": "TAG",
}  # fmt: skip
MASTER_HA = "10.0.0.1:10912"


def stall(play: Play) -> None:
    play.stalled.add(DISPATCH)


def free(play: Play) -> None:
    """What a shell does when the thread may run again."""
    play.stalled.clear()
    play.broker.on_timer(DISPATCH)


def pulled(play: Play, offset: int = 0, queue_id: int = 0) -> tuple[list[bytes], int, int]:
    """Bodies of a pull's answer, where to go on, and the queue's next offset as it says."""
    answer = play.ask(RequestCode.PULL_MESSAGE, **{**PULL, "queueOffset": offset, "queueId": queue_id})
    found = headers.decode_response(RequestCode.PULL_MESSAGE, answer)
    bodies, data = [], answer.body
    while data:
        record = decode(data)
        assert isinstance(record, Record) and record.queue_offset == offset + len(bodies)
        bodies.append(record.message.body)
        data = data[record.size :]
    return bodies, found["nextBeginOffset"], found["maxOffset"]


def lagging() -> Play:
    """A master with one message in its queue, and two that wait to come into it."""
    play = Play()
    play.produce(body=b"first")
    stall(play)
    assert [play.produce(body=body)["queueOffset"] for body in (b"second", b"third")] == [1, 2]
    return play


def test_what_is_not_dispatched_has_its_offset_and_no_reader_finds_it() -> None:
    play = lagging()
    assert pulled(play) == ([b"first"], 1, 1)
    assert pulled(play, 1) == ([], 1, 1)
    assert play.value(RequestCode.GET_MAX_OFFSET, "offset", topic="T", queueId=0) == 1
    free(play)
    assert pulled(play) == ([b"first", b"second", b"third"], 3, 3)
    assert play.produce()["queueOffset"] == 3


def test_keys_are_found_when_they_are_dispatched_and_not_before() -> None:
    play = Play()
    stall(play)
    play.produce(properties="KEYS\x01k")
    asked = {"topic": "T", "key": "k", "maxNum": 9, "beginTimestamp": 0, "endTimestamp": 1 << 60}
    assert play.ask(RequestCode.QUERY_MESSAGE, **asked).code == remoting.QUERY_NOT_FOUND
    free(play)
    assert play.ask(RequestCode.QUERY_MESSAGE, **asked).code == remoting.SUCCESS


def test_a_held_pull_goes_on_when_its_message_is_dispatched() -> None:
    play = Play()
    play.produce()
    stall(play)
    held = {**PULL, "queueOffset": 1, "sysFlag": 2 | 4, "suspendTimeoutMillis": 10_000}
    texts = headers.encode_request(RequestCode.PULL_MESSAGE, held)
    assert play.feed("reader", Command(RequestCode.PULL_MESSAGE, 77, 0, texts, b"", version=401)) is None
    play.produce(body=b"late")
    assert "reader" not in play.sent
    free(play)
    assert b"late" in play.sent["reader"]


def test_offsets_of_a_batch_and_of_other_queues_go_on_while_all_wait() -> None:
    play = lagging()
    body = encode_batch([BatchItem(b"a"), BatchItem(b"b")])
    answer = play.ask(
        RequestCode.SEND_BATCH_MESSAGE, body, producerGroup="P", topic="T", defaultTopic="TBW102",
        defaultTopicQueueNums=4, queueId=0, sysFlag=0, bornTimestamp=1, flag=0, batch=True,
    )  # fmt: skip
    assert answer.fields["queueOffset"] == "3"
    assert play.produce()["queueOffset"] == 5
    assert [play.produce(queue_id=1)["queueOffset"] for _ in range(2)] == [0, 1]
    free(play)
    assert pulled(play)[1:] == (6, 6) and pulled(play, queue_id=1)[1:] == (2, 2)


@pytest.mark.parametrize("clean", [True, False])
def test_nothing_is_lost_when_the_broker_ends_before_it_has_dispatched(clean: bool) -> None:
    play = lagging()
    if clean:
        play.broker.on_stop()
    again = Play(play.disk)
    assert pulled(again) == ([b"first", b"second", b"third"], 3, 3)
    assert again.produce()["queueOffset"] == 3


def test_a_start_dispatches_all_that_the_log_holds_though_the_thread_gets_no_time_then() -> None:
    class Stalled(Play):
        def runs(self, thread: object) -> bool:
            return False

    play = lagging()
    again = Stalled(play.disk)
    assert pulled(again)[1:] == (3, 3)
    assert again.produce()["queueOffset"] == 3 and pulled(again)[1:] == (3, 3)


def test_a_slave_s_queues_lag_and_catch_up_in_order() -> None:
    master = lagging()
    log = master.broker.log.read(0, master.broker.log.end)
    slave = Play(haMasterAddress=MASTER_HA, **SLAVE)
    stall(slave)
    slave.broker.on_connected(MASTER_HA, "ha")
    slave.broker.on_bytes("ha", encode_header(0, len(log)) + log)
    assert slave.broker.log.end == len(log) and slave.broker.store.queues.next_offset("T", 0) == 0
    free(slave)
    queues = slave.broker.store.queues
    assert queues.get("T", 0, 0, 9) == master.broker.store.queues.get("T", 0, 0, 1) + queues.get("T", 0, 1, 9)
    assert queues.next_offset("T", 0) == 3 and slave.broker.store.dispatcher.at == len(log)


def test_readers_are_not_sent_back_while_queues_lag() -> None:
    play = lagging()
    assert pulled(play, 3)[1] == 3
    free(play)
    assert pulled(play, 9)[1] == 3


def test_a_lag_and_a_full_disk_give_no_offset_that_is_not_known() -> None:
    play = Play(mappedFileSizeConsumeQueue=20)
    play.produce()
    full = ActiveFault()
    play.disk.full.append(full)
    assert play.produce(body=b"stuck")["queueOffset"] == 1
    stall(play)
    refused = play.ask(
        RequestCode.SEND_MESSAGE, b"body", producerGroup="P", topic="T", defaultTopic="TBW102",
        defaultTopicQueueNums=4, queueId=0, sysFlag=0, bornTimestamp=1, flag=0,
    )  # fmt: skip
    assert refused.code == remoting.SERVICE_NOT_AVAILABLE
    play.disk.full.remove(full)
    free(play)
    assert play.produce()["queueOffset"] == 2 and pulled(play, 1)[0] == [b"stuck", b"body"]


def test_retention_leaves_what_no_queue_knows_yet() -> None:
    play = Play(TreeDisk(), mappedFileSizeCommitLog=512)
    play.produce(body=b"x" * 200)
    stall(play)
    for _ in range(5):
        play.produce(body=b"x" * 200)
    log, at = play.broker.log, play.broker.store.dispatcher.at
    play.broker.expire(1)
    assert log.start == at - at % 512
    free(play)
    play.broker.expire(1)
    assert log.start == log.end - log.end % 512
    assert play.produce()["queueOffset"] == 6
