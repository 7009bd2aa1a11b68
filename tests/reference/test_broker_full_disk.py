"""A disk that is full for a while, power that is lost right after a save: what a broker has said stays true."""

from __future__ import annotations

from typing import Any

import pytest
from processor_play import SLAVE, Play

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.bodies_client import BatchItem, encode_batch
from pairproof.reference.wire.ha import encode_header
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command

PULL: dict[str, Any] = {
    "consumerGroup": "G", "topic": "T", "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 4,
    "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0, "subscription": "*", "expressionType": "TAG",
}  # fmt: skip
MASTER_HA = "10.0.0.1:10912"


class Full:
    """While it lasts the disk has no room for another file."""

    def __init__(self, disk: SimDisk) -> None:
        self.disk = disk
        self.fault = ActiveFault()

    def __enter__(self) -> None:
        self.disk.full.append(self.fault)

    def __exit__(self, *_: object) -> None:
        self.disk.full.remove(self.fault)


def pulled(play: Play, offset: int = 0) -> tuple[int, int, bytes]:
    """Code, where to go on, and what was found."""
    answer = play.ask(RequestCode.PULL_MESSAGE, **{**PULL, "queueOffset": offset})
    return answer.code, headers.decode_response(RequestCode.PULL_MESSAGE, answer)["nextBeginOffset"], answer.body


def batch(play: Play, count: int, size: int) -> Command:
    """The answer to a batch of so many messages of that size."""
    body = encode_batch([BatchItem(bytes([65 + number]) * size) for number in range(count)])
    return play.ask(
        RequestCode.SEND_BATCH_MESSAGE, body, producerGroup="P", topic="T", defaultTopic="TBW102",
        defaultTopicQueueNums=4, queueId=0, sysFlag=0, bornTimestamp=1, flag=0, batch=True,
    )  # fmt: skip


def crashed(disk: SimDisk, keep: str = "all", **settings: Any) -> Play:
    """The broker after its machine lost power."""
    disk.lose_power(keep)
    return Play(disk, **settings)


def test_batch_is_refused_as_a_whole_where_the_disk_has_no_room_for_all_of_it() -> None:
    play = Play(SimDisk())
    play.produce(body=b"x" * 1_000)
    end = play.broker.log.end
    with Full(play.disk):
        refused = batch(play, 3, 1_000)
    assert refused.code == remoting.SERVICE_NOT_AVAILABLE and play.broker.log.end == end
    assert pulled(play)[1] == 1
    stored = batch(play, 3, 1_000)
    assert stored.code == remoting.SUCCESS and stored.fields["queueOffset"] == "1"
    # It moved to the next file as a whole, behind a filler that a slave gets, too.
    assert play.appends[1] == (end, 4_096) and [lo for lo, _ in play.appends[2:3]] == [4_096]
    assert pulled(play)[1] == 4 and pulled(crashed(play.disk))[1] == 4


def test_batch_larger_than_a_file_is_illegal() -> None:
    play = Play(SimDisk())
    assert batch(play, 4, 1_000).code == remoting.MESSAGE_ILLEGAL and play.broker.log.end == 0


def test_batch_whose_queue_has_no_room_is_stored_as_a_whole_and_comes_later() -> None:
    play = Play(SimDisk(), mappedFileSizeConsumeQueue=60)
    play.produce()
    with Full(play.disk):
        answer = batch(play, 4, 10)
        assert answer.code == remoting.SUCCESS and answer.fields["queueOffset"] == "1"
        assert pulled(play)[1] == 3
    play.wait(1)
    assert pulled(play)[1] == 5


def test_master_that_could_not_dispatch_does_so_when_there_is_room_though_nothing_more_is_sent() -> None:
    play = Play(SimDisk(), mappedFileSizeConsumeQueue=20)
    play.produce()
    with Full(play.disk):
        assert play.produce(body=b"late")["queueOffset"] == 1
        play.wait(10)
        assert pulled(play)[1] == 1
    play.wait(1)
    code, following, body = pulled(play, 1)
    assert (code, following) == (remoting.SUCCESS, 2) and b"late" in body


def test_slave_that_could_not_dispatch_does_so_when_there_is_room_though_nothing_more_comes() -> None:
    master = Play(SimDisk())
    for _ in range(2):
        master.produce()
    log = master.broker.log.read(0, 4_096)
    slave = Play(SimDisk(), mappedFileSizeConsumeQueue=20, haMasterAddress=MASTER_HA, **SLAVE)
    slave.broker.on_connected(MASTER_HA, "ha")
    half = master.broker.log.record_size(0)
    slave.broker.on_bytes("ha", encode_header(0, half) + log[:half])
    with Full(slave.disk):
        slave.broker.on_bytes("ha", encode_header(half, len(log) - half) + log[half:])
        slave.wait(3)
        assert slave.broker.store.queues.next_offset("T", 0) == 1
    slave.wait(1)
    assert slave.broker.store.queues.next_offset("T", 0) == 2


def test_readers_are_not_sent_back_while_queues_lack_what_the_log_has() -> None:
    play = Play(SimDisk())
    for _ in range(5):
        play.produce()
    with Full(play.disk):
        # After a crash the queues are made again, and there is no room for them.
        again = crashed(play.disk)
        assert pulled(again, 5)[:2] == (remoting.PULL_RETRY_IMMEDIATELY, 5)
    again.wait(1)
    assert pulled(again, 5)[:2] == (remoting.PULL_NOT_FOUND, 5)
    assert pulled(again, 9)[:2] == (remoting.PULL_OFFSET_MOVED, 5)


def test_topic_and_group_that_could_not_be_saved_are_saved_when_there_is_room() -> None:
    play = Play(SimDisk())
    with Full(play.disk):
        play.broker.parts.topics.ensure("T", 1)
        pulled(play)
        play.wait(6)
    assert crashed(play.disk.image()).parts.topics.get("T") is None
    play.wait(6)
    found = crashed(play.disk.image()).parts
    assert found.topics.get("T") is not None and found.groups.get("G") is not None
    assert not any(key == ("persist", None) for key in play.timers)


def test_power_loss_right_after_retention_gives_no_offset_twice() -> None:
    play = Play(SimDisk())
    for _ in range(3):
        play.produce()
    play.produce(queue_id=1, body=b"x" * 3_000)
    play.produce(queue_id=1, body=b"x" * 3_000)
    for name in play.broker.log.flush_due():
        play.disk.sync(name)
    play.broker.expire(1)
    again = crashed(play.disk, "none")
    assert again.produce()["queueOffset"] == 3
    assert pulled(again, 2)[:2] == (remoting.PULL_OFFSET_MOVED, 3)


@pytest.mark.parametrize("flushed", [True, False])
def test_power_loss_right_after_two_saves_leaves_the_tables_that_were_flushed(flushed: bool) -> None:
    disk = SimDisk()
    first = Play(disk)
    first.broker.parts.topics.ensure("old", 1)
    first.broker.on_stop()
    play = Play(disk)
    for name in ("new", "newest"):
        play.broker.parts.topics.ensure(name, 1)
        if flushed:
            for file in play.broker.parts.topics.file.names:
                disk.sync(file)
            play.broker.on_flushed(play.flushes[-1])
    play.broker.parts.topics.ensure("last", 1)
    found = crashed(disk, "none").parts.topics
    known = [name for name in ("old", "new", "newest", "last") if found.get(name) is not None]
    assert known == (["old", "new", "newest"] if flushed else ["old"])
