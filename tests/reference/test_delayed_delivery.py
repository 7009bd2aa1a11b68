"""Delayed messages: when they are delivered and as what, what a crash may do, and what it may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cluster_play import Machine, World, pair
from fake_port import MS
from hypothesis import given, settings
from hypothesis import strategies as st
from store_play import golden_disk

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.delay import SCHEDULE_TOPIC
from pairproof.reference.core.delayed_delivery import BATCH, DelayedDelivery
from pairproof.reference.wire import beans, remoting
from pairproof.reference.wire.bodies import DelayOffsets
from pairproof.reference.wire.properties import java_hash, properties_of
from pairproof.reference.wire.record import Blank, Message, Record, decode

PORT = 10911
EPOCH_MS = 1_700_000_000_000


def alone(kind: type[DelayedDelivery] = DelayedDelivery, **changes: Any) -> tuple[World, Machine]:
    """A master without a name server, started."""

    class Kind(Broker):
        delivery_class = kind

    world = World()
    machine = world.broker(PORT, Kind, **{"namesrvAddr": "", "haSendHeartbeatInterval": 1_000_000, **changes})
    machine.start()
    return world, machine


def delivered(machine: Machine, topic: str = "T", queue_id: int = 0) -> list[Record]:
    store = machine.node.store
    found = [store.record_at(entry.physical_offset) for entry in store.queues.get(topic, queue_id, 0, 10_000)]
    assert None not in found
    return found


def bodies(machine: Machine) -> list[bytes]:
    return [record.message.body for record in delivered(machine)]


def delay_timers(machine: Machine) -> set[Any]:
    return {key[1] for key in machine.timers if key[0] == "delay"}  # type: ignore[index]


# When, and as what.


@pytest.mark.parametrize(("level", "delay_ms"), [(1, 1_000), (2, 5_000), (5, 60_000), (18, 7_200_000), (99, 7_200_000)])
def test_a_message_is_delivered_when_its_level_s_delay_is_over_and_not_before(level: int, delay_ms: int) -> None:
    world, master = alone()
    world.send(PORT, properties=f"DELAY={level}")
    (waiting,) = delivered(master, SCHEDULE_TOPIC, min(level, 18) - 1)
    due = waiting.store_ms + delay_ms
    world.kernel.run_until((due - EPOCH_MS) * MS - 1)
    assert delivered(master) == []
    world.run(0.002)
    assert [record.store_ms for record in delivered(master)] == [due]


def test_it_is_delivered_to_its_own_queue_as_it_waited() -> None:
    world, master = alone()
    world.send(PORT, "T", 3, b"hello", "KEYS=k DELAY=1 TAGS=red colour=blue")
    world.run(2)
    (record,) = delivered(master, "T", 3)
    (waiting,) = delivered(master, SCHEDULE_TOPIC, 0)
    assert properties_of(record.message.properties)["colour"] == "blue"
    assert record.message == waiting.message._replace(topic="T", queue_id=3)
    (entry,) = master.node.store.queues.get("T", 3, 0, 2)
    assert entry.tags_code == java_hash("red")
    assert master.node.store.index.query("T", "k", 10, 0, 1 << 60).offsets == [entry.physical_offset]


def test_captured_messages_are_delivered_as_rocketmq_did() -> None:
    log = CommitLog(golden_disk("master", "commitlog"), 65_536)
    log.recover(True)
    captured: list[Message] = []
    at = 0
    while at < log.end:
        found = decode(log.read(at, 65_536), origin=at)
        captured += [] if isinstance(found, Blank) else [found.message]
        at += found.size
    waiting = [each for each in captured if each.topic == SCHEDULE_TOPIC]
    theirs = [each for each in captured if each.topic != SCHEDULE_TOPIC and b"REAL_TOPIC" in each.properties]
    assert len(waiting) == len(theirs) == 2
    world, master = alone()
    for each in waiting:
        master.node.parts.puts.put(each)
    world.run(2)
    for each in theirs:
        (ours,) = delivered(master, each.topic, each.queue_id)
        assert ours.message == each


def test_levels_do_not_wait_for_each_other_and_a_level_keeps_its_order() -> None:
    world, master = alone()
    for number, level in enumerate((3, 1, 3, 2, 1)):
        world.send(PORT, body=b"%d" % number, properties=f"DELAY={level}")
    world.run(20)
    assert bodies(master) == [b"1", b"4", b"3", b"0", b"2"]


def test_a_held_pull_is_answered_by_the_delivery() -> None:
    world, _ = alone()
    world.send(PORT, properties="DELAY=1")
    ended: list[Any] = []
    calls = world.client.node.calls
    fields = {
        "consumerGroup": "g", "topic": "T", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "6",
        "commitOffset": "0", "suspendTimeoutMillis": "15000", "subVersion": "0", "subscription": "*",
    }  # fmt: skip
    calls.call(f"127.0.0.1:{PORT}", 11, fields, b"", ended.append)
    world.run(0.9)
    assert ended == []
    world.run(0.2)
    assert [each.answer.code for each in ended] == [remoting.SUCCESS]


def test_a_slave_delivers_nothing_of_its_own() -> None:
    world = World()
    names, master, slave = pair(world)
    for each in (names, master, slave):
        each.start()
    world.run(12)
    world.send(PORT, properties="DELAY=2")
    world.run(2)
    master.kill()
    world.run(30)
    assert len(delivered(slave, SCHEDULE_TOPIC, 1)) == 1
    assert delivered(slave) == []
    assert delay_timers(slave) == set()
    master.start()
    world.run(30)
    assert len(delivered(slave)) == 1


# Timers and turns.


def test_timers_run_only_where_something_waits() -> None:
    world, master = alone()
    assert delay_timers(master) == set()
    world.send(PORT)
    assert delay_timers(master) == set()
    world.send(PORT, properties="DELAY=2")
    world.send(PORT, properties="DELAY=2")
    world.send(PORT, properties="DELAY=4")
    assert delay_timers(master) == {2, 4}
    world.run(6)
    assert delay_timers(master) == {4, "save"}
    world.run(50)
    assert delay_timers(master) == set()


def test_a_turn_delivers_a_bounded_number_of_messages() -> None:
    turns: list[int] = []

    class Counting(DelayedDelivery):
        def _deliver(self, level: int) -> None:
            before = self.next[level]
            super()._deliver(level)
            turns.append(self.next[level] - before)

    world, master = alone(Counting)
    for _ in range(2 * BATCH + 1):
        world.send(PORT, properties="DELAY=2")
    master.kill()
    world.run(30)
    turns.clear()
    master.start()
    world.run(0.01)
    assert turns == [BATCH, BATCH, 1]


@pytest.mark.parametrize("ahead_ms", [3_600_000, 3_001])
def test_a_clock_that_is_set_back_makes_nobody_wait_longer_than_the_level_s_delay(ahead_ms: int) -> None:
    world, master = alone()
    true = master.wall_ms
    master.wall_ms = lambda: true() + ahead_ms  # type: ignore[method-assign]
    world.send(PORT, properties="DELAY=2")
    master.wall_ms = true  # type: ignore[method-assign]
    world.run(5.1)
    world.run(5)
    assert len(delivered(master)) == 1


# What cannot be delivered.


@pytest.mark.parametrize(
    "properties",
    [
        b"DELAY\x011",
        b"DELAY\x011\x02REAL_TOPIC\x01T",
        b"DELAY\x011\x02REAL_TOPIC\x01T\x02REAL_QID\x01x",
        b"DELAY\x011\x02REAL_TOPIC\x01T\x02REAL_QID\x01-1",
        b"DELAY\x011\x02REAL_TOPIC\x01../T\x02REAL_QID\x010",
        b"DELAY\x011\x02REAL_TOPIC\x01SCHEDULE_TOPIC_XXXX\x02REAL_QID\x010",
        b"DELAY\x011\x02REAL_TOPIC\x01RMQ_SYS_TRANS_HALF_TOPIC\x02REAL_QID\x010",
    ],
)
def test_what_has_no_place_to_go_holds_up_nobody(properties: bytes) -> None:
    world, master = alone()
    master.node.parts.puts.put(Message(SCHEDULE_TOPIC, 0, b"lost", properties))
    end = master.node.log.end
    world.send(PORT, properties="DELAY=1")
    world.run(3)
    assert bodies(master) == [b"body"]
    assert master.node.store.queues.next_offset(SCHEDULE_TOPIC, 0) == 2
    assert master.node.log.end > end


def test_messages_whose_records_have_expired_are_passed_over() -> None:
    world, master = alone()
    for number in range(40):
        world.send(PORT, body=b"%d" % number * 100, properties="DELAY=3")
    queues = master.node.store.queues
    master.node.expire(1)
    first = queues.min_offset(SCHEDULE_TOPIC, 2)
    assert 0 < first < 40
    world.run(20)
    assert bodies(master) == [b"%d" % number * 100 for number in range(first, 40)]


def test_a_full_disk_is_tried_again_and_nothing_is_lost_or_doubled() -> None:
    world, master = alone()
    sent = [b"%d" % number * 100 for number in range(20)]
    for body in sent:
        world.send(PORT, body=body, properties="DELAY=2")
    full = ActiveFault()
    master.disk.full.append(full)
    world.run(20)
    few = len(delivered(master))
    assert few < len(sent)
    assert 2 in delay_timers(master)
    master.disk.full.remove(full)
    world.run(1.1)
    assert bodies(master) == sent


# Progress and crashes.


def test_progress_is_saved_ten_seconds_later_and_not_again() -> None:
    world, master = alone()
    world.send(PORT, properties="DELAY=1")
    world.run(10.9)
    assert master.persists.count("delays") == 0
    world.run(0.2)
    assert master.persists.count("delays") == 1
    world.run(60)
    assert master.persists.count("delays") == 1


def test_an_administrator_sees_progress_at_once_and_a_full_disk_delays_the_save_only() -> None:
    world, master = alone()
    world.send(PORT, properties="DELAY=1")
    full = ActiveFault()
    world.run(1.1)
    assert master.node.parts.delay_offsets.encode() == b'{"offsetTable":{1:1}}'
    master.disk.full.append(full)
    world.run(60)
    assert master.disk.read_whole("config/delayOffset.json") is None
    master.disk.full.remove(full)
    world.run(1.1)
    assert beans.decode(DelayOffsets, master.disk.read_whole("config/delayOffset.json") or b"").offset_table == {1: 1}
    assert delay_timers(master) == set()


def test_what_is_delivered_while_a_save_waits_for_the_log_is_saved_after_it() -> None:
    world, master = alone(flushIntervalCommitLog=15_000)
    world.send(PORT, properties="DELAY=1")
    world.run(11)
    world.send(PORT, properties="DELAY=1")
    world.run(5)
    assert beans.decode(DelayOffsets, master.disk.read_whole("config/delayOffset.json") or b"").offset_table == {1: 1}
    world.run(30)
    assert beans.decode(DelayOffsets, master.disk.read_whole("config/delayOffset.json") or b"").offset_table == {1: 2}


def test_a_clean_stop_saves_everything_and_nothing_comes_twice() -> None:
    world, master = alone(flushIntervalCommitLog=3_600_000)
    for level in (1, 2):
        world.send(PORT, properties=f"DELAY={level}")
    world.run(1.1)
    master.stop()
    assert len(master.disk.read_whole("config/delayOffset.json") or b"") > 0
    master.start()
    world.run(30)
    assert len(delivered(master)) == 2


def test_a_kill_delivers_again_at_most_what_was_not_saved() -> None:
    world, master = alone()
    for number in range(3):
        world.send(PORT, body=b"early %d" % number, properties="DELAY=1")
    world.run(12)
    world.send(PORT, body=b"late", properties="DELAY=1")
    world.run(2)
    master.kill()
    master.start()
    world.run(5)
    assert bodies(master) == [b"early 0", b"early 1", b"early 2", b"late", b"late"]


@pytest.mark.parametrize(("saved", "goes_on"), [({1: 99}, 2), ({1: 1}, 1), ({}, 0)])
def test_a_position_outside_the_queue_becomes_its_nearest_end(saved: dict[int, int], goes_on: int) -> None:
    world, master = alone()
    world.send(PORT, properties="DELAY=1")
    world.send(PORT, properties="DELAY=1")
    master.kill()
    delays = ", ".join(f"{level}:{offset}" for level, offset in saved.items())
    master.disk.write_whole("config/delayOffset.json", f'{{"offsetTable":{{{delays}}}}}'.encode())
    assert master.start().delivery.next[1] == goes_on


def test_a_predecessor_s_position_past_the_log_is_not_believed_after_a_crash_when_the_log_has_grown() -> None:
    """Found by a campaign, in one of 57,000 trials: what came between was passed over for ever."""
    world, master = alone()
    world.send(PORT, properties="DELAY=1")
    master.kill()
    master.disk.write_whole("config/delayOffset.json", b'{"offsetTable":{1:3}}')
    master.start()
    world.run(0.1)
    for number in range(2):
        world.send(PORT, body=b"%d" % number, properties="DELAY=1")
    world.run(0.5)
    master.kill()
    master.start()
    world.run(2)
    assert bodies(master) == [b"0", b"1"]


class Hasty(DelayedDelivery):
    """Saves positions whether or not the log is durable, as RocketMQ does."""

    def _save(self) -> None:
        self._end = 0
        super()._save()


@pytest.mark.parametrize(("kind", "survives"), [(DelayedDelivery, True), (Hasty, False)])
def test_a_power_loss_between_the_save_and_the_log_s_flush_loses_nothing(
    kind: type[DelayedDelivery], survives: bool
) -> None:
    world, master = alone(kind, flushIntervalCommitLog=60_000)
    world.send(PORT, properties="DELAY=6")
    # The message is flushed at 60 s, delivered at 120 s, and that is saved at 130 s; the log's next flush is at 180 s.
    world.run(135)
    assert len(delivered(master)) == 1
    master.lose_power()
    world.run(1)
    master.start()
    world.run(150)
    assert (len(delivered(master)) == 1) is survives


@given(
    sends=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4_000)), min_size=1, max_size=8),
    crashes=st.lists(
        st.tuples(st.integers(0, 15_000), st.sampled_from(["kill", "lose_power", "stop"])), max_size=3
    ),
)  # fmt: skip
@settings(max_examples=40)
def test_whatever_crashes_come_every_stored_message_is_delivered(
    sends: list[tuple[int, int]], crashes: list[tuple[int, str]]
) -> None:
    world, master = alone(flushDiskType="SYNC_FLUSH")
    for number, (level, rest_ms) in enumerate(sends):
        world.send(PORT, body=b"%d" % number, properties=f"DELAY={level}")
        world.run(rest_ms / 1_000)
    for after_ms, how in crashes:
        world.run(after_ms / 1_000)
        end: Callable[[], None] = getattr(master, how)
        end()
        master.start()
    world.run(12)
    found = bodies(master)
    assert set(found) == {b"%d" % number for number in range(len(sends))}
    if all(how == "stop" for _, how in crashes):
        assert len(found) == len(sends)
