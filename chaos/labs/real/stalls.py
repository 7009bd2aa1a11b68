"""Whether this machine let the lab's processes be punctual. Laws of time need this before they accuse a node.

A stall is recorded when a process of the lab was late because of the machine: a signal stopped it, or it waited for a
CPU or a disk. For the harness, any delay of its loop or threads counts. For nodes only the kernel's data count, never
their slowness: a node that blocks itself is at fault. The lab's own actions on nodes are not stalls, see
:attr:`pairproof.chaos.labs.real.nodes.RealNode.halted`.

A thread of the harness samples all processes every :data:`STEP_S`. The kernel counts waits even while that thread is
late, and its lateness is itself a stall. Not seen: waits for memory that is swapped out and back within a step, and a
host that takes one CPU from this machine while another one continues.

Sources: see :mod:`pairproof.chaos.labs.real.proc`.
"""

from __future__ import annotations

import os
import threading
import time
from asyncio import AbstractEventLoop, TimerHandle
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ....harness.errors import LabError
from ....harness.history import MS
from . import proc
from .proc import Task

STEP_S = 0.05
LEAST_NS = 100 * MS
"""A shorter delay is not a stall: in real-time labs laws allow for three times as much."""
WINDOW_NS = 1_000 * MS
SHARE_NS = {"waited for a CPU": 250 * MS, "waited for a disk": 500 * MS}
"""This much within a window is also a stall, even in small pieces: with a tenth of a CPU no single wait is long."""
CPU, DISK = SHARE_NS
STOPPED = "was stopped by a signal"
NO_TURN = "did not turn its loop"
NO_STEP = "did not get on"
MANY = 40
"""Threads of a process that is sampled less often: a JVM."""
SELDOM = 10
MAX_STALLS = 20_000


class Watched(NamedTuple):
    """A process of the lab. ``f``, ``node``: see the history's event type ``stall``."""

    f: str
    node: str | None
    pid: int
    halted: Callable[[], bool]
    """Whether the lab itself has stopped it."""


class Stall(NamedTuple):
    """Times are CLOCK_MONOTONIC, ns."""

    f: str
    node: str | None
    how: str
    begin: int
    end: int


class Stalls:
    """Stalls in the order of their ends; adjacent stalls of one type are merged. Any thread may report."""

    def __init__(self) -> None:
        self._found: list[Stall] = []
        self._last: dict[tuple[str, str | None, str], int] = {}
        self._alone = threading.Lock()

    def add(self, f: str, node: str | None, how: str, begin: int, end: int) -> None:
        with self._alone:
            key = (f, node, how)
            at = self._last.get(key)
            known = None if at is None else self._found[at]
            touches = known is not None and begin <= known.end and end >= known.begin
            if at is not None and known is not None and (touches or len(self._found) >= MAX_STALLS):
                self._found[at] = known._replace(begin=min(begin, known.begin), end=max(end, known.end))
            else:
                # In this order: SIGTERM may interrupt here, and a closing trial reports again.
                self._found.append(Stall(f, node, how, begin, end))
                self._last[key] = len(self._found) - 1

    def all(self) -> list[Stall]:
        with self._alone:
            return list(self._found)

    def total_ns(self, since: int) -> int:
        """Total lateness of any process since then."""
        total, upto = 0, since
        for each in sorted(self.all(), key=lambda stall: stall.begin):
            total += max(0, each.end - max(each.begin, upto))
            upto = max(upto, each.end)
        return total


class Pulse:
    def __init__(self, watched: Watched, stalls: Stalls) -> None:
        self.watched = watched
        self._tell = stalls.add
        self._looked: int | None = None
        self._tasks: dict[int, Task] = {}
        self._began: dict[tuple[int, str], int] = {}
        """By thread and state: since when it was observed."""
        self._pieces: dict[str, deque[tuple[int, int]]] = {how: deque() for how in SHARE_NS}
        """Waits within the last window: time of observation and length, ns."""

    def turn(self, before: int, now: int, looks: int) -> None:
        """Sample the process if it is its turn; ``looks``: number of the others' samples so far."""
        if len(self._tasks) > MANY and looks % SELDOM:
            # A signal stops all threads, and may be over before a later sample.
            self._glance(before, now)
            return
        halted, tasks = self.watched.halted(), proc.tasks(self.watched.pid)
        # The sample may be from before or after the lab stopped it.
        self.look(self._looked or before, now, tasks, halted or self.watched.halted())
        self._looked = now

    def _glance(self, before: int, now: int) -> None:
        pid, halted = self.watched.pid, self.watched.halted()
        task = proc.task(pid, pid)
        halted = halted or self.watched.halted()
        self._lasts(pid, STOPPED, before, now, task is not None and task.state in proc.STOPPED and not halted)

    def look(self, before: int, now: int, tasks: Mapping[int, Task], halted: bool) -> None:
        """Evaluate its threads' present state; ``before``: time of the last sample."""
        if halted:
            # It waits at most for the lab to continue it.
            tasks = {tid: task._replace(state="") for tid, task in tasks.items()}
        on_disk = False
        for tid, task in tasks.items():
            last = self._tasks.get(tid)
            still = last is not None and last.ran_ns == task.ran_ns
            if last is not None:
                self._waited(before, now, task.waited_ns - last.waited_ns)
            self._lasts(tid, STOPPED, before, now, task.state in proc.STOPPED)
            self._lasts(tid, DISK, before, now, task.state in proc.DISK and still)
            self._lasts(tid, CPU, before, now, task.state in proc.RUNNABLE and still)
            on_disk = on_disk or task.state in proc.DISK
        for tid, how in [key for key in self._began if key[0] not in tasks]:
            self._lasts(tid, how, before, now, False)
        self._piece(DISK, before, now, now - before if on_disk else 0)
        self._tasks = dict(tasks)

    def _waited(self, before: int, now: int, waited: int) -> None:
        # The kernel counts a wait at its end.
        if waited >= LEAST_NS:
            self._told(CPU, before - waited, now)
        self._piece(CPU, before, now, waited)

    def _piece(self, how: str, before: int, now: int, ns: int) -> None:
        pieces = self._pieces[how]
        if ns:
            pieces.append((now, ns))
        while pieces and pieces[0][0] < now - WINDOW_NS:
            pieces.popleft()
        if ns and sum(each for _, each in pieces) >= SHARE_NS[how]:
            self._told(how, pieces[0][0] - pieces[0][1], now)

    def _lasts(self, tid: int, how: str, before: int, now: int, does: bool) -> None:
        began = self._began.setdefault((tid, how), before) if does else self._began.pop((tid, how), now)
        # Reported while it lasts: it may outlast the trial.
        if now - began >= LEAST_NS:
            self._told(how, began, now)

    def _told(self, how: str, begin: int, end: int) -> None:
        self._tell(self.watched.f, self.watched.node, how, begin, end)


class Watch:
    """Samples ``processes``, which is called each time, from :meth:`start` to :meth:`stop`."""

    def __init__(self, loop: AbstractEventLoop, processes: Callable[[], Iterable[Watched]]) -> None:
        self.stalls = Stalls()
        self._loop = loop
        self._processes = processes
        self._pulses: dict[int, Pulse] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="stalls", daemon=True)
        self._beaten = time.monotonic_ns()
        self._timer: TimerHandle | None = None
        self._wrong: Exception | None = None

    def start(self) -> None:
        """Begin; the loop need not run yet."""
        self._beaten = time.monotonic_ns()
        self._timer = self._loop.call_later(0, self._beat)
        self._thread.start()

    def stop(self) -> list[Stall]:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._timer is not None:
            self._turned()
            self._timer.cancel()
            self._timer = None
        if self._wrong is not None:
            why = f"{type(self._wrong).__name__}: {self._wrong}"
            raise LabError(f"it is unknown whether this machine was punctual, since measuring that failed: {why}")
        return self.stalls.all()

    # The loop of clients and taps.

    def _beat(self) -> None:
        self._turned()
        self._timer = self._loop.call_later(STEP_S, self._beat)

    def _turned(self) -> None:
        now, before = time.monotonic_ns(), self._beaten
        self._beaten = now
        if now - before >= LEAST_NS + STEP_S * 1e9:
            self.stalls.add("harness", None, NO_TURN, before, now)

    # Processes.

    def _watch(self) -> None:
        try:
            self._steps()
        except Exception as why:
            self._wrong = why

    def _steps(self) -> None:
        before, looks = time.monotonic_ns(), 0
        while not self._over.wait(STEP_S):
            now = time.monotonic_ns()
            if now - before >= LEAST_NS + STEP_S * 1e9:
                self.stalls.add("harness", None, NO_STEP, before, now)
            self._look(before, now, looks)
            before, looks = now, looks + 1

    def _look(self, before: int, now: int, looks: int) -> None:
        seen = {each.pid: each for each in self._processes()}
        for pid in [pid for pid in self._pulses if pid not in seen]:
            del self._pulses[pid]
        for pid, watched in seen.items():
            pulse = self._pulses.get(pid)
            if pulse is None or pulse.watched.node != watched.node:
                pulse = self._pulses[pid] = Pulse(watched, self.stalls)
            pulse.turn(before, now, looks)


def helper(f: str, pid: int) -> Watched:
    """One of the lab's own processes, which the lab never stops."""
    return Watched(f, None, pid, lambda: False)


def harness() -> Watched:
    """This process."""
    return helper("harness", os.getpid())
