"""The lab notices that this machine was late, whoever of its processes was; and never takes a node's fault for that."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from real_labs import opened

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.labs.real import proc
from pairproof.chaos.labs.real.evidence import Evidence
from pairproof.chaos.labs.real.proc import Task
from pairproof.chaos.labs.real.session import RealSession
from pairproof.chaos.labs.real.stalls import (
    CPU,
    DISK,
    LEAST_NS,
    MANY,
    MAX_STALLS,
    MS,
    NO_TURN,
    SELDOM,
    STOPPED,
    Pulse,
    Stall,
    Stalls,
    Watch,
    Watched,
    helper,
)  # fmt: skip
from pairproof.chaos.labs.real.world import World
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.errors import LabError
from pairproof.harness.history import Recorder
from pairproof.harness.judging.judge import all_laws, judge
from pairproof.harness.judging.verdict import Verdict

STEP = 50 * MS
SPIN = "import sys; print(1, flush=True)\nwhile True: pass"


class Looks:
    """A pulse that is told what a process's one thread does, step by step."""

    def __init__(self) -> None:
        self.stalls = Stalls()
        self.pulse = Pulse(helper("proxy", 1), self.stalls)
        self.now = self.ran = self.waited = 0

    def step(self, state: str, ran: int = 0, waited: int = 0, times: int = 1, halted: bool = False) -> Looks:
        for _ in range(times):
            before, self.now = self.now, self.now + STEP
            self.ran, self.waited = self.ran + ran * MS, self.waited + waited * MS
            self.pulse.look(before, self.now, {1: Task(state, self.ran, self.waited)}, halted)
        return self

    @property
    def found(self) -> list[tuple[str, int, int]]:
        return [(each.how, each.begin // MS, each.end // MS) for each in self.stalls.all()]


# What the kernel tells of a process.


def test_a_process_that_sleeps_or_runs_is_punctual() -> None:
    assert Looks().step("S", times=50).step("R", ran=50, times=50).step("S", ran=1, waited=9, times=100).found == []


def test_a_process_that_somebody_stopped_is_late_until_it_goes_on() -> None:
    assert Looks().step("S", times=2).step("T", times=4).step("S", times=9).found == [(STOPPED, 100, 350)]
    assert Looks().step("S", times=2).step("T", times=1).step("S", times=9).found == [(STOPPED, 100, 200)]


def test_a_stall_that_still_lasts_is_known() -> None:
    assert Looks().step("T", times=4).found == [(STOPPED, 0, 200)]


def test_a_node_that_the_lab_has_stand_still_is_not_late() -> None:
    assert Looks().step("S").step("T", times=40, halted=True).step("S").found == []
    assert Looks().step("T", times=40, halted=True).step("T", times=3).found == [(STOPPED, 2_000, 2_150)]


def test_a_thread_that_waits_long_for_a_disk_is_late_and_one_that_gets_on_is_not() -> None:
    assert Looks().step("S").step("D", times=4).step("S").found == [(DISK, 50, 300)]
    assert Looks().step("S").step("D", ran=1, times=4).step("S", times=4).found == []


def test_a_disk_that_takes_half_of_the_time_in_small_pieces_makes_late() -> None:
    quick, slow = Looks(), Looks()
    for _ in range(20):
        quick.step("D", ran=1).step("S", ran=1, times=2)
        slow.step("D", ran=1).step("S", ran=1)
    assert quick.found == [] and [each[0] for each in slow.found] == [DISK]


def test_a_wait_for_a_cpu_is_told_when_it_is_over() -> None:
    assert Looks().step("S", times=9).step("S", ran=1, waited=99).found == []
    assert Looks().step("S", times=9).step("S", ran=1, waited=100).found == [(CPU, 350, 500)]


def test_a_wait_for_a_cpu_that_is_not_over_is_told_too() -> None:
    assert Looks().step("S", ran=1).step("R", times=5).found == [(CPU, 50, 300)]


def test_who_gets_a_tenth_of_a_cpu_is_late_though_no_wait_is_long() -> None:
    (starved,) = Looks().step("R", ran=5, waited=45, times=40).found
    assert starved[0] == CPU and starved[1] < 200 and starved[2] == 2_000
    assert Looks().step("R", ran=39, waited=11, times=40).found == []


def test_a_thread_that_ended_in_a_stall_is_remembered() -> None:
    looks = Looks().step("T", times=3)
    looks.pulse.look(looks.now, looks.now + STEP, {}, False)
    assert looks.found == [(STOPPED, 0, 200)]


def test_stalls_that_touch_are_one_and_there_are_only_so_many() -> None:
    stalls = Stalls()
    for number in range(MAX_STALLS + 10):
        stalls.add("proxy", None, CPU, 10 * number, 10 * number + 10)
    assert stalls.all() == [Stall("proxy", None, CPU, 0, 10 * MAX_STALLS + 100)]
    for number in range(MAX_STALLS + 10):
        stalls.add("supervisor", None, CPU, 10 * number, 10 * number + 5)
    assert len(stalls.all()) == MAX_STALLS and stalls.all()[-1].end == 10 * MAX_STALLS + 95


def test_a_report_that_a_signal_interrupts_leaves_stalls_readable() -> None:
    class Interrupted(list[Stall]):
        def append(self, stall: Stall) -> None:
            raise KeyboardInterrupt

    stalls = Stalls()
    stalls._found = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        stalls.add("harness", None, NO_TURN, 0, 100)
    stalls._found = []
    stalls.add("harness", None, NO_TURN, 0, 200)
    assert stalls.all() == [Stall("harness", None, NO_TURN, 0, 200)]


def test_time_in_which_several_were_late_counts_once() -> None:
    stalls = Stalls()
    stalls.add("proxy", None, CPU, 100, 200)
    stalls.add("supervisor", None, CPU, 150, 250)
    stalls.add("supervisor", None, CPU, 0, 50)
    assert stalls.total_ns(0) == 200 and stalls.total_ns(180) == 70 and stalls.total_ns(300) == 0


def test_stalls_become_events_at_the_time_when_they_began() -> None:
    evidence = Evidence(Recorder())
    evidence.add(500, "mark", f="end")
    base = evidence.base
    evidence.stalled(
        [Stall("node", "slave", CPU, base + 100, base + 300), Stall("supervisor", None, CPU, base - 9, base + 9)]
    )
    evidence.merge_traces()
    told = [(each.t, each.kind, each.f, each.node, each.value, each.detail) for each in evidence.recorder.events]
    assert told[:2] == [(0, "stall", "supervisor", None, 9, CPU), (100, "stall", "node", "slave", 200, CPU)]


# Reading it.


@pytest.fixture
def spinner() -> Iterator[subprocess.Popen[bytes]]:
    found = subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE)
    assert found.stdout is not None and found.stdout.readline()
    yield found
    found.kill()
    found.wait()
    found.stdout.close()


def test_a_process_has_threads_that_run_and_stand_still(spinner: subprocess.Popen[bytes]) -> None:
    def wait(state: str) -> int:
        for _ in range(1_000):
            if all(each.state in state for each in proc.tasks(spinner.pid).values()):
                break
            time.sleep(0.01)
        return proc.ran_ns(spinner.pid) or 0

    before = wait("R")
    os.kill(spinner.pid, signal.SIGSTOP)
    stopped = wait("T")
    assert stopped > before > 0 and wait("T") == stopped


def test_of_a_process_that_is_not_there_nothing_is_said(tmp_path: Path) -> None:
    assert proc.tasks(1, tmp_path) == {} and proc.ran_ns(1, tmp_path) is None
    task = tmp_path / "1" / "task" / "7"
    task.mkdir(parents=True)
    (task / "stat").write_text("7 (a) R (b) D) S 1 2")
    (task / "schedstat").write_text("5 6 7\n")
    assert proc.tasks(1, tmp_path) == {7: Task("S", 5, 6)}
    (task / "stat").write_text("7 (a) Z 1 2")
    assert proc.tasks(1, tmp_path) == {}


def test_where_the_kernel_does_not_count_waits_threads_run_all_the_same(tmp_path: Path) -> None:
    task = tmp_path / "1" / "task" / "7"
    task.mkdir(parents=True)
    (task / "stat").write_text(f"7 (a) R {' '.join('0' * 10)} 3 4 0")
    assert proc.tasks(1, tmp_path) == {7: Task("R", 7 * proc.TICK_NS, 0)}
    assert not proc.counts_waits(tmp_path) and proc.counts_waits() == Path("/proc/self/schedstat").exists()


def test_a_process_of_many_threads_is_looked_at_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(proc, "tasks", lambda pid: asked.append(pid) or {n: Task("S", 0, 0) for n in range(MANY + 1)})
    pulse = Pulse(helper("node", 1), Stalls())
    for looks in range(1, 2 * SELDOM + 1):
        pulse.turn(0, STEP, looks)
    assert len(asked) == 3


def test_a_short_stop_of_such_a_process_is_seen_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    state = "S"
    monkeypatch.setattr(proc, "tasks", lambda pid: {n: Task(state, 0, 0) for n in range(1, MANY + 2)})
    monkeypatch.setattr(proc, "task", lambda pid, tid: Task(state, 0, 0))
    stalls = Stalls()
    pulse = Pulse(helper("node", 1), stalls)
    for looks in range(3 * SELDOM):
        state = "T" if SELDOM + 2 <= looks < SELDOM + 6 else "S"
        pulse.turn(looks * STEP, (looks + 1) * STEP, looks)
    ((how, begin, end),) = [(each.how, each.begin // STEP, each.end // STEP) for each in stalls.all()]
    assert (how, begin, end) == (STOPPED, SELDOM + 2, SELDOM + 7)


# The harness's own.


def test_who_cannot_measure_stalls_says_so_rather_than_that_there_were_none() -> None:
    loop, asked = asyncio.new_event_loop(), threading.Event()

    def processes() -> list[Watched]:
        asked.set()
        raise PermissionError("no /proc for you")

    watch = Watch(loop, processes)
    watch.start()
    assert asked.wait(60)
    with pytest.raises(LabError, match=r"whether this machine was punctual.*no /proc for you"):
        watch.stop()
    loop.close()


def test_a_loop_that_does_not_turn_makes_the_harness_late() -> None:
    loop = asyncio.new_event_loop()
    watch = Watch(loop, lambda: ())
    watch.start()
    loop.run_until_complete(asyncio.sleep(0.1))
    time.sleep(0.3)
    loop.run_until_complete(asyncio.sleep(0.1))
    found = watch.stop()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert [each for each in found if each.how == NO_TURN and each.end - each.begin >= 300 * MS]
    assert not [each for each in threading.enumerate() if each.name == "stalls"]


# Trials.


def stopped(session: RealSession, pid: int, ms: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    session.advance(ms)
    os.kill(pid, signal.SIGCONT)
    session.advance(200)


@pytest.mark.parametrize("whose", ["slave", "master", "proxy", "supervisor"])
def test_whoever_is_stopped_from_outside_is_seen_and_nobody_is_accused(lab: ProcessLab, whose: str) -> None:
    session = opened(lab, haSendHeartbeatInterval=200)
    helpers = {each.f: each.pid for each in session.environment.helpers()}
    pid = helpers[whose] if whose in helpers else session.nodes[whose].pid
    assert pid is not None
    if whose != "supervisor":
        stopped(session, pid, 2_500)
    else:
        # Whoever asks it waits, and the loop with it.
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(1.5, os.kill, (pid, signal.SIGCONT)).start()
        session.advance(200)
    session.settle()
    seen = [each for each in session.recorder.events if each.kind == "stall" and each.detail == STOPPED]
    assert {each.node or each.f for each in seen} == {whose}
    assert sum(each.value or 0 for each in seen) > 1_000 * MS >= LEAST_NS
    found = judge(session.recorder.events, all_laws(), lab.observes(TARGET))
    assert [each for each in found if each.verdict is Verdict.VIOLATED] == []


def test_a_trial_with_a_paused_and_a_killed_node_shows_no_stop(lab: ProcessLab) -> None:
    session = opened(lab)
    handle = session.on_nodes.pause("slave")
    session.advance(400)
    session.on_nodes.resume(handle)
    session.on_nodes.kill("slave")
    session.on_nodes.restart("slave")
    session.settle()
    assert not [each for each in session.recorder.events if each.kind == "stall" and each.detail == STOPPED]


class Clock:
    """Time that passes whenever somebody asks for it."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += MS
        return self.now


@pytest.mark.parametrize(("late_ms", "waited_ms"), [(0, 100), (40, 140), (5_000, 200)])
def test_a_wait_lasts_longer_by_what_was_stalled_and_by_as_much_again_at_most(
    late_ms: int, waited_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, stalls = Clock(), Stalls()
    monkeypatch.setattr("pairproof.chaos.labs.real.world.time.monotonic_ns", clock)
    monkeypatch.setattr("pairproof.chaos.labs.real.world.TICK_S", 0)
    stalls.add("proxy", None, CPU, 0, late_ms * MS)
    nothing = SimpleNamespace(poll=lambda: None, check=lambda: None)
    session = SimpleNamespace(evidence=nothing, environment=nothing, watch=SimpleNamespace(stalls=stalls), _wrong=None)
    loop = asyncio.new_event_loop()
    assert not loop.run_until_complete(World._until(cast(World, session), lambda: False, 100 * MS))
    loop.close()
    assert abs(clock.now // MS - waited_ms) <= 4
