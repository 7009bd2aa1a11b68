"""Queues and index after stops, crashes, power losses and retention: always those of a fresh dispatch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_play import LOG_FILE, NOW_MS, Store, first_file_to_replay, fresh, min_ms, same, started

from pairproof.reference.core.checkpoint import Checkpoint
from pairproof.reference.core.dispatch import Dispatcher
from pairproof.reference.wire.record import Message


def test_clean_restart_dispatches_nothing_again() -> None:
    store = started()
    for number in range(20):
        store.put(number, queue_id=number % 3)
    store.stop()
    disk = store.disk
    disk.lose_power("none")
    again = Store(disk)
    assert again.dispatcher.at == store.log.end and again.dispatcher.dispatch() == 0
    same(again, store)
    again.put(20)
    same(again, fresh(disk))


def test_clean_restart_dispatches_what_was_not_dispatched_before() -> None:
    store = started()
    for number in range(9):
        store.put(number)
    store.log.put(Message("topic", 0, b"late", b"KEYS\x01k9"), 9, NOW_MS)
    store.stop()
    again = Store(store.disk)
    assert again.dispatcher.dispatch() == 1 and again.answers(["k9"])["k9"]
    same(again, fresh(store.disk))


def test_clean_stop_does_not_rely_on_a_flush_that_is_under_way() -> None:
    store = started()
    store.put(0, queue_id=0)
    store.queues.begin_flush()
    store.put(1, queue_id=1)
    for name in store.log.flush_due():
        store.disk.sync(name)
    store.queues.sync()
    store.index.sync()
    store.disk.lose_power("none")
    again = Store(store.disk)
    again.dispatcher.dispatch()
    same(again, fresh(store.disk))


def test_log_without_files_has_no_queues_and_no_index() -> None:
    store = started()
    for number in range(9):
        store.put(number)
    store.stop()
    for start in store.log.files.starts:
        store.disk.delete(f"commitlog/{start:020d}")
    again = Store(store.disk, clean=False)
    assert again.view() == {} and not store.disk.content("consumequeue") and not store.disk.content("index")
    again.put(0)
    same(again, fresh(store.disk))


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 2)),
        st.tuples(st.just("put"), st.integers(0, 2)),
        st.tuples(st.just("put"), st.integers(0, 2)),
        st.tuples(st.just("flush"), st.just("")),
        st.tuples(st.just("flush log"), st.just("")),
        st.tuples(st.just("expire"), st.integers(1, 3)),
        st.tuples(st.just("clock"), st.sampled_from([3_600_000, -3_600_000, 5_000])),
        st.tuples(st.just("crash"), st.sampled_from(["none", "half", "hole", "all"])),
        st.tuples(st.just("stop"), st.just("")),
    ),
    max_size=50,
)


def played(actions: list[tuple[str, Any]]) -> Store:
    """A store after these actions; at each restart its queues and index equal those of a fresh dispatch."""
    store, skew = started(), 0
    for number, (action, value) in enumerate(actions):
        if action == "put":
            store.put(number, value, ms=NOW_MS + skew + number * 1000)
        elif action == "flush":
            store.flush()
        elif action == "flush log":
            for name in store.log.flush_due():
                store.disk.sync(name)
        elif action == "clock":
            skew += value
        elif action == "expire":
            store.log.expire(value)
            store.dispatcher.expire()
        else:
            if action == "stop":
                store.stop()
            else:
                store.disk.lose_power(value)
            store = Store(store.disk, clean=action == "stop")
            store.dispatcher.dispatch()
            same(store, fresh(store.disk))
    return store


@given(ACTIONS)
@settings(max_examples=150)
def test_recovery_after_any_crash_equals_a_fresh_dispatch(actions: list[tuple[str, Any]]) -> None:
    store = played(actions)
    same(store, fresh(store.disk))


class ByCheckpoint(Dispatcher):
    """RocketMQ's choice of the file to begin with."""

    def replay_from(self, checkpoint: Checkpoint) -> int:
        return first_file_to_replay(self.log, min_ms(checkpoint))


@pytest.mark.parametrize(
    ("kind", "back_ms", "whole"),
    [(ByCheckpoint, 0, True), (ByCheckpoint, 3_600_000, False), (Dispatcher, 3_600_000, True)],
)
def test_believing_the_checkpoint_loses_entries_once_the_clock_was_set_back(
    kind: type[Dispatcher], back_ms: int, whole: bool
) -> None:
    store = started(indexed=False)
    for number in range(12):
        store.put(number, ms=NOW_MS + 1000 * number)
    store.flush()
    for number in range(12, 24):
        store.put(number, ms=NOW_MS + 1000 * number - back_ms)
    for name in store.log.flush_due():
        store.disk.sync(name)
    store.disk.lose_power("none")
    again = Store(store.disk, clean=False, kind=kind, indexed=False)
    again.dispatcher.dispatch()
    assert again.log.end == store.log.end
    assert (again.view() == fresh(store.disk).view()) == whole


def test_entry_whose_tags_were_lost_with_a_sector_is_written_again() -> None:
    store = started()
    for number in range(8):
        store.put(number)
    name = f"consumequeue/topic/0/{100:020d}"
    store.disk.files[name].write(2 * 20 + 12, bytes(8))
    again = Store(store.disk, clean=False)
    again.dispatcher.dispatch()
    same(again, fresh(store.disk))


def test_index_that_a_power_loss_took_is_built_again_even_by_who_believes_the_checkpoint() -> None:
    store = started()
    for number in range(30):
        store.put(number, ms=NOW_MS + 1000 * number, **({"properties": b""} if number else {}))
    store.flush()
    store.disk.lose_power("none")
    assert not store.disk.content("index")
    again = Store(store.disk, clean=False, kind=ByCheckpoint)
    again.dispatcher.dispatch()
    same(again, fresh(store.disk))


def test_index_that_is_past_a_clean_log_s_end_is_built_again() -> None:
    store = started()
    for number in range(5):
        store.put(number, properties=b"KEYS\x01k%d" % number)
    store.stop()
    last = store.queues.get("topic", 0, 4, 1)[0]
    store.log.files.write(last.physical_offset, bytes(last.size))
    # With them the store would be refused: they say that the log lacks something.
    for name in store.disk.content("consumequeue"):
        store.disk.delete(name)
    again = Store(store.disk)
    again.dispatcher.dispatch()
    assert again.log.end == last.physical_offset and again.answers(["k3", "k4"]) == {
        "k3": [again.view()["topic", 0][1][3][0]],
        "k4": [],
    }
    same(again, fresh(store.disk))


def test_index_remembers_across_a_clean_stop_what_was_flushed() -> None:
    store = started()
    for number in range(9):
        store.put(number)
    store.index.sync()
    assert store.index.flushed_ms == store.index.files[-2].end_ms > 0 and not store.index.begin_flush()


STEPS = st.lists(
    st.tuples(st.integers(1, 500), st.sampled_from(["", "", "flush", "none", "half", "hole", "all"])), max_size=15
)


@given(STEPS, st.integers(0, 3))
@settings(max_examples=80)
def test_slave_that_joined_late_and_crashed_has_its_master_s_entries(
    steps: list[tuple[int, str]], files_missed: int
) -> None:
    master, slave = started(), started()
    for number in range(40):
        master.put(number, queue_id=number % 3)
    begin = master.log.files.starts[files_missed]
    for size, then in [*steps, (LOG_FILE, ""), (LOG_FILE, "")]:
        at = slave.log.end or begin
        assert slave.log.append(at, master.log.read(at, size))
        slave.dispatcher.dispatch()
        if then == "flush":
            slave.flush()
        elif then:
            slave.disk.lose_power(then)
            slave = Store(slave.disk, clean=False, copied=True)
            slave.dispatcher.dispatch()
        if slave.log.end:
            same(slave, fresh(slave.disk, copied=True), whole=False)
        for here, (first, entries) in slave.view().items():
            assert master.queues.get(*here, first, len(entries)) == entries
