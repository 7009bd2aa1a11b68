"""A fault begins just before a call on a file, right after a table or a route, and may end with that call."""

from __future__ import annotations

import pytest

from pairproof.chaos.labs.real.triggers import Triggers
from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.disk import SPARED, SimDisk
from pairproof.harness.errors import Unable
from pairproof.harness.rocketmq.moments import POINTS, PROGRAMS, SMALL
from pairproof.harness.rocketmq.template import advance, send
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reference.errors import StoreFull

LAB, REFERENCE = resolve.lab("sim"), resolve.target("reference")


def played(*ops: Op, **settings: object) -> Trial:
    given: Args = {**SMALL, **settings}  # type: ignore[dict-item]
    return run_trial(LAB, REFERENCE, Schedule(given, "moments", ops))


def at(point: str, name: str, do: str = "arm", nth: int = 1, **args: str) -> Op:
    return Op(do, {"node": "master", "point": point, "nth": nth, "name": name, **args})


@pytest.mark.parametrize("point", POINTS)
def test_a_fault_begins_at_every_point(point: str) -> None:
    program = next(each for each in PROGRAMS if point in each.points)
    node = "slave" if point == "apply" else "master"
    op = Op("arm", {"node": node, "point": point, "nth": 1, "name": "kill"})
    trial = run_trial(LAB, REFERENCE, Schedule(program.settings, "moments", (op, *program.before)))
    assert [event.node for event in trial.events if event.kind == "crash"] == [node]


def test_a_transient_fault_ends_with_the_call_and_a_lasting_one_does_not() -> None:
    ops = (send(3), advance(1_500), send(3), advance(20))
    once = played(at("create:consumequeue", "disk_full", "transient", files="all"), *ops)
    held = played(at("create:consumequeue", "disk_full", files="all"), *ops)
    assert [each.effect for each in once.faults] == [{"files_refused": 1}]
    assert once.faults[0].began_ns == once.faults[0].ended_ns
    # The dispatch is tried again after a second, and before the next send.
    assert held.faults[0].effect["files_refused"] > 1
    for trial in (once, held):
        assert not [each.law for each in trial.judgements if each.verdict.value == "violated"]


def test_a_transient_kill_is_a_restart_at_once() -> None:
    trial = played(at("create:consumequeue", "kill", "transient"), send(3), advance(20))
    times = [event.t for event in trial.events if event.node == "master" and event.kind in ("crash", "start")]
    assert len(times) == 3 and times[1] == times[2]


def test_a_trigger_of_a_call_that_never_comes_is_removed_at_the_end() -> None:
    trial = played(at("apply", "disk_full", "transient", files="all"), send(1), advance(20))
    assert not trial.faults


@pytest.mark.parametrize(
    ("files", "refused"),
    [
        ("but_log", {"consumequeue/t/0/0", "index/0", "config/topics.json", "checkpoint"}),
        ("queues", {"consumequeue/t/0/0", "index/0"}),
    ],
)
def test_a_full_disk_may_spare_files(files: str, refused: set[str]) -> None:
    disk = SimDisk()
    fault = ActiveFault(spared=SPARED[files])
    disk.full.append(fault)
    found = set()
    for name in ("commitlog/0", "consumequeue/t/0/0", "index/0", "config/topics.json", "checkpoint"):
        try:
            disk.open(name, 10)
        except StoreFull:
            found.add(name)
    assert found == refused and fault.effect == {"files_refused": len(refused)}


def test_two_full_disks_refuse_what_either_refuses() -> None:
    disk = SimDisk()
    queues, all_of_them = ActiveFault(spared=SPARED["queues"]), ActiveFault()
    disk.full += [queues, all_of_them]
    with pytest.raises(StoreFull):
        disk.open("commitlog/0", 10)
    assert (queues.effect, all_of_them.effect) == ({}, {"files_refused": 1})


def test_a_disk_reports_each_call_that_changes_a_file_and_no_other() -> None:
    disk = SimDisk()
    calls: list[tuple[str, str]] = []
    disk.passes = lambda call, name: calls.append((call, name))
    disk.write_whole("config/a.tmp", b"x")
    disk.rename("config/a.tmp", "config/a")
    disk.rename("config/none", "config/b")
    disk.open("checkpoint", 10).write(0, b"x")
    disk.open("checkpoint", 10)
    assert calls == [
        ("write", "config/a.tmp"),
        ("rename", "config/a.tmp"),
        ("create", "checkpoint"),
        ("write", "checkpoint"),
    ]


def test_a_real_process_does_not_stop_at_calls_on_files() -> None:
    class World:
        plan = REFERENCE.plan(REFERENCE.settings({}))  # type: ignore[attr-defined]

    with pytest.raises(Unable, match="a process does not stop at create:index"):
        Triggers(World()).arm("master", "create:index", 1, lambda: None)  # type: ignore[arg-type]
