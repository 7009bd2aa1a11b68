"""Tests of ``queue-checkpoint``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_unknown, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.storage.queue_checkpoint import QueueCheckpoint

LOOKS = {"flushConsumeQueueLeastPages": 0, "flushIntervalConsumeQueue": 500}
"""Each look notes how far it came, so 1,500 ms and a poll are the most."""


def read(history: H, queues_ms: int, *stored_ms: int, detail: str = "{}") -> H:
    history.audits += 1
    for place, ms in enumerate(stored_ms):
        lo = 100 * place
        history.add(
            "record", node="master", op=history.audits, lo=lo, hi=lo + 100, queue="t/0", value=ms, detail=detail
        )
    return history.add("checkpoint", node="master", op=history.audits, value=queues_ms)


def waiting(ms: int, **settings: object) -> H:
    history = pair(**{**LOOKS, **settings}).append("master", 0, 100, "put", "m0")
    return history.add("dispatch", node="master", hi=100).after(ms)


def test_messages_dispatched_long_ago_are_recorded_as_durable() -> None:
    assert_holds(QueueCheckpoint, read(waiting(2_500), 0, 7))
    assert_broken(QueueCheckpoint, read(waiting(2_501), 6, 7), "durable up to 6 ms, although a message of 7 ms is, too")
    assert_holds(QueueCheckpoint, read(waiting(2_501), 7, 7))


@pytest.mark.parametrize(
    ("settings", "ms"),
    [
        ({"flushConsumeQueueLeastPages": 2, "flushConsumeQueueThoroughInterval": 3_000}, 8_500),
        # Each file of a queue may need its own round.
        ({"mappedFileSizeConsumeQueue": 20}, 3_000),
    ],
)
def test_a_thorough_look_and_more_files_take_longer(settings: dict[str, object], ms: int) -> None:
    assert_holds(QueueCheckpoint, read(waiting(ms, **settings), 0, 7))
    assert_broken(QueueCheckpoint, read(waiting(ms + 1, **settings), 0, 7), "although a message of 7 ms is")


def test_slow_flushes_lengthen_the_rounds() -> None:
    def late(ms: int) -> H:
        history = (
            H()
            .add("lab", f="sim", value=0, detail='{"lab.flushMicros": 1000000}')
            .config("master", **LOOKS)
            .start("master")
        )
        stored = history.append("master", 0, 100, "put", "m0").add("dispatch", node="master", hi=100)
        return read(stored.after(ms), 6, 7)

    assert_holds(QueueCheckpoint, late(6_500))
    assert_broken(QueueCheckpoint, late(6_501), "although a message of 7 ms is")


def test_later_messages_need_not_be_recorded_and_a_clock_may_have_been_set_back() -> None:
    def later() -> H:
        return waiting(2_501).append("master", 100, 200, "put", "m1").add("dispatch", node="master", hi=200)

    assert_holds(QueueCheckpoint, read(later(), 7, 7, 9))
    assert_holds(QueueCheckpoint, read(later(), 5, 7, 5))
    assert_broken(QueueCheckpoint, read(later(), 4, 7, 5), "durable up to 4 ms, although a message of 5 ms is, too")


def test_a_clean_stop_notes_all() -> None:
    def stopped() -> H:
        return waiting(1).add("stop", node="master").start("master")

    assert_holds(QueueCheckpoint, read(stopped(), 7, 7))
    assert_broken(QueueCheckpoint, read(stopped(), 0, 7), "although a message of 7 ms is, too")
    again = stopped().add("stop", node="master").start("master")
    assert_broken(QueueCheckpoint, read(again, 0, 7), "although a message of 7 ms is, too")
    restarted = waiting(1).fault("restart", "master").add("stop", node="master").start("master")
    assert_broken(QueueCheckpoint, read(restarted, 0, 7), "although a message of 7 ms is, too")
    killed = waiting(1).add("stop", node="master").crash("master").start("master")
    assert_holds(QueueCheckpoint, read(killed, 0, 7))
    full = waiting(1).fault("disk_full", "master").add("stop", node="master").start("master")
    assert_holds(QueueCheckpoint, read(full, 0, 7))
    assert_holds(QueueCheckpoint, read(waiting(1).crash("master").start("master").after(5_000), 0, 7))


def test_5_5_0_notes_in_thorough_looks_only_and_in_no_stop() -> None:
    def java(ms: int, version: str) -> H:
        settings = {**LOOKS, "rocketmqVersion": version, "flushConsumeQueueThoroughInterval": 3_000}
        history = H().config("master", **settings).add("start", node="master", lo=0, hi=0, f="unknown")
        return history.append("master", 0, 100, "put", "m0").add("dispatch", node="master", hi=100).after(ms)

    def stopped(version: str) -> H:
        return java(1, version).add("stop", node="master").add("start", node="master", lo=0, hi=100, f="unknown")

    assert_broken(QueueCheckpoint, read(java(2_501, "4.9.7"), 0, 7), "although a message of 7 ms is")
    assert_holds(QueueCheckpoint, read(java(8_500, "5.5.0"), 0, 7))
    assert_broken(QueueCheckpoint, read(java(8_501, "5.5.0"), 0, 7), "although a message of 7 ms is")
    assert_broken(QueueCheckpoint, read(stopped("4.9.7"), 0, 7), "although a message of 7 ms is")
    assert_holds(QueueCheckpoint, read(stopped("5.5.0"), 0, 7))


def test_it_does_not_know_more_than_there_is() -> None:
    assert_holds(QueueCheckpoint, read(waiting(1), 9, 7, 9))
    assert_broken(QueueCheckpoint, read(waiting(1), 10, 7, 9), "up to 10 ms, but its newest message is of 9 ms")


def test_half_messages_are_in_no_queue() -> None:
    assert_holds(QueueCheckpoint, read(waiting(9_000), 0, 7, detail='{"type": "prepared"}'))


def test_where_a_fault_had_hold_of_the_node_or_its_log_was_another_nothing_is_due() -> None:
    assert_holds(QueueCheckpoint, read(waiting(9_000).fault("disk_full", "master"), 0, 7))
    assert_vacuous(QueueCheckpoint, read(waiting(9_000).crash("master", "machine").start("master"), 0, 7))
    assert_vacuous(QueueCheckpoint, read(waiting(9_000).add("cut", node="master", lo=0, hi=100), 0, 7))
    assert_vacuous(QueueCheckpoint, read(waiting(9_000).wipe("master").start("master"), 0, 7))
    # An audit without this node's records is not judged.
    assert_vacuous(QueueCheckpoint, read(waiting(9_000), 0))


def test_a_stall_of_the_machine_excuses_lateness() -> None:
    late = waiting(1).stall(2_000).after(2_600)
    assert_unknown(QueueCheckpoint, read(late, 0, 7))


@pytest.mark.parametrize(("column", "name"), [("lo", "log"), ("hi", "index")])
def test_neither_log_nor_index_is_durable_beyond_the_newest_message(column: str, name: str) -> None:
    def told(ms: int) -> H:
        history = read(waiting(1), 0, 5, 7)
        history.events[-1] = history.events[-1]._replace(**{column: ms})
        return history

    assert_holds(QueueCheckpoint, told(7))
    assert_broken(QueueCheckpoint, told(8), f"{name} is durable up to 8 ms, but its newest message is of 7 ms")
