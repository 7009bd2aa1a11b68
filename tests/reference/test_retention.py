"""Retention by time: which files go, when, and what goes with them."""

from __future__ import annotations

from typing import Any

import pytest
from cluster_play import Machine, World, pair
from fake_port import MS

from pairproof.reference.core.broker import Broker
from pairproof.reference.core.retention import AT_ONCE, HOUR_MS, Retention, hours_of
from pairproof.reference.errors import ConfigError
from pairproof.reference.wire.record import Message

PORT = 10911
HOUR_S = 3_600
FILE = 4_096
# The world's clock starts at 22:13:20 UTC.
START_MS = 1_700_000_000_000


def alone(kind: type[Retention] = Retention, **changes: Any) -> tuple[World, Machine]:
    """A master that keeps files for two hours, started."""

    class Kind(Broker):
        retention_class = kind

    world = World()
    fixed = {"namesrvAddr": "", "fileReservedTime": 2, "deleteWhen": "", "haSendHeartbeatInterval": 1_000_000}
    machine = world.broker(PORT, Kind, **{**fixed, **changes})
    machine.start()
    return world, machine


def put(machine: Machine, body: bytes = b"x" * 1_500) -> int:
    """Store one of two messages that fill a file, as the log goes; where it lies."""
    message = Message("T", 0, body, b"KEYS\x01k%d" % machine.node.log.end)
    stored = machine.node.parts.puts.put(message)
    machine.node.parts.puts.settle(stored.hi, False, lambda status: None)
    return int(stored.lo)


def fill(machine: Machine, files: int) -> None:
    """Put messages until the log has begun so many more files."""
    for _ in range(2 * files):
        put(machine)


def start(machine: Machine) -> int:
    return int(machine.node.log.start)


def armed(machine: Machine) -> float | None:
    """In how many seconds the retention timer rings."""
    entry = machine.timers.get(("retention", None))
    return None if entry is None else (entry[0] - machine.now()) / (1_000 * MS)


def test_a_file_goes_when_the_first_message_behind_it_is_old_enough() -> None:
    world, master = alone()
    fill(master, 1)
    world.run(HOUR_S)
    # The file's newest message is an hour younger than its oldest, and than the file's beginning.
    put(master)
    world.run(2 * HOUR_S - 1)
    assert start(master) == 0
    world.run(1.1)
    assert start(master) == FILE
    world.run(100 * HOUR_S)
    assert start(master) == FILE, "the last file went"


def test_no_timer_runs_while_there_is_one_file_and_one_runs_to_the_moment_when_there_are_two() -> None:
    world, master = alone()
    fill(master, 1)
    world.run(50 * HOUR_S)
    assert armed(master) is None
    put(master)
    world.run(1)
    assert armed(master) == pytest.approx(2 * HOUR_S - 1, abs=0.001)
    rings: list[int] = []
    on_timer = master.node.retention.on_timer
    master.node._timers = {**master.node._timers, "retention": lambda key: (rings.append(1), on_timer(key))}
    world.run(50 * HOUR_S)
    assert rings == [1]
    assert armed(master) is None


def test_nothing_goes_in_the_first_minute_and_a_restart_finds_what_is_due() -> None:
    world, master = alone()
    fill(master, 3)
    world.run(1)
    master.kill()
    world.run(10 * HOUR_S)
    master.start()
    assert armed(master) == 60
    world.run(59.9)
    assert start(master) == 0
    world.run(0.2)
    assert start(master) == 2 * FILE


def test_at_most_ten_files_go_at_once() -> None:
    world, master = alone()
    fill(master, AT_ONCE + 5)
    world.run(1)
    master.kill()
    world.run(10 * HOUR_S)
    master.start()
    world.run(60.1)
    assert start(master) == AT_ONCE * FILE
    world.run(9.8)
    assert start(master) == AT_ONCE * FILE
    world.run(0.2)
    assert start(master) == (AT_ONCE + 4) * FILE


# The hour.


@pytest.mark.parametrize(
    ("when", "hour"), [("04", 4), ("4", 4), ("04;16", 4), ("16;04", 4), ("01;16", 1), (" 23 ; 05", 5), ("00", 0)]
)
def test_files_go_in_their_hours_only(when: str, hour: int) -> None:
    world, master = alone(deleteWhen=when)
    fill(master, 1)
    put(master)
    # Due at 00:13:20, which is too late for 23 o'clock.
    due_ms = START_MS + 2 * HOUR_MS
    midnight = (START_MS // HOUR_MS // 24 + 1) * 24 * HOUR_MS
    first_ms = max(due_ms, midnight + hour * HOUR_MS)
    world.kernel.run_until((first_ms - START_MS - 1) * MS)
    assert start(master) == 0
    world.run(0.01)
    assert start(master) == FILE


def test_a_clock_that_is_behind_at_the_moment_is_waited_for() -> None:
    world, master = alone(deleteWhen="04")
    fill(master, 1)
    put(master)
    world.run(1)
    true = master.wall_ms
    master.wall_ms = lambda: true() - 2 * HOUR_MS  # type: ignore[method-assign]
    world.kernel.run_until((6 * HOUR_MS) * MS)
    assert start(master) == 0
    world.run(2 * HOUR_S)
    assert start(master) == FILE


@pytest.mark.parametrize("text", ["24", "-1", "4,5", "four", "04:00", "4;", ";"])
def test_hours_that_are_none_are_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ConfigError, match="deleteWhen must be hours from 00 to 23"):
        hours_of(text)
    with pytest.raises(ConfigError, match="deleteWhen"):
        alone(deleteWhen=text)


def test_empty_hours_are_all() -> None:
    assert hours_of("") == hours_of("  ") == frozenset()


# What goes with them.


def test_queues_and_index_let_go_of_what_lay_in_the_files() -> None:
    world, master = alone(mappedFileSizeConsumeQueue=100)
    at = [put(master) for _ in range(18)]
    world.run(3 * HOUR_S)
    store = master.node.store
    assert start(master) == at[-2]
    assert store.queues.min_offset("T", 0) == 16
    assert master.disk.names("consumequeue/T/0") == [f"{300:020d}"]
    assert len(master.disk.names("index")) == 1
    assert len(master.disk.names("commitlog")) == 1
    assert store.index.query("T", f"k{at[-1]}", 1, 0, 1 << 60).offsets == [at[-1]]


def test_a_slave_s_files_go_by_the_times_that_its_master_gave_them() -> None:
    world = World()
    names, master, slave = pair(world, fileReservedTime=2, deleteWhen="")
    for each in (names, master, slave):
        each.start()
    world.run(12)
    fill(master, 3)
    world.run(1)
    assert start(slave) == 0
    slave.kill()
    world.run(HOUR_S)
    slave.start()
    world.run(HOUR_S - 60)
    assert (start(master), start(slave)) == (0, 0)
    world.run(60)
    assert start(master) == start(slave) == 2 * FILE


def test_a_file_that_begins_with_a_part_of_a_record_is_looked_at_again() -> None:
    world = World()
    slave = world.broker(
        PORT, brokerRole="SLAVE", brokerId=1, namesrvAddr="", fileReservedTime=2, deleteWhen="",
        flushCommitLogLeastPages=0,
    )  # fmt: skip
    _, master = alone()
    fill(master, 1)
    put(master)
    slave.start()
    log, piece = slave.node.log, master.node.log
    for lo, hi in ((0, FILE), (FILE, FILE + 50)):
        assert log.append(lo, piece.read(lo, hi - lo))
        slave.node.store.flusher.grown()
        world.run(1)
    assert armed(slave) is None
    assert log.append(FILE + 50, piece.read(FILE + 50, FILE))
    slave.node.store.flusher.grown()
    world.run(1)
    assert armed(slave) is not None


class ByFirstMessage(Retention):
    """Goes by the first message of the file itself."""

    def due_ms(self, index: int) -> int | None:
        return super().due_ms(index - 1) if index else START_MS + self.keep_ms


def test_the_test_of_the_age_can_fail() -> None:
    world, master = alone(ByFirstMessage)
    fill(master, 1)
    world.run(HOUR_S)
    put(master)
    world.run(HOUR_S + 1)
    assert start(master) == FILE
