"""Processes that do tasks side by side, each in a lab of its own, which is used for one task after another.

Every worker has at most one task, and gets the next one when its answer was heard, so nothing piles up. Workers are
spawned, not forked: whoever uses them may have threads. An interrupt ends the task that is going on; a worker closes
its lab when it ends, also when the process that started it was killed.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from math import inf
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from time import monotonic
from types import FrameType
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from ..errors import LabError, PairproofError
from ..ports import Lab, Target
from . import resolve
from .resolve import Brought

MAX_JOBS = 16
AHEAD = 8
"""Tasks of each worker that are drawn ahead where answers are heard in order."""
GOODBYE_S = 60.0
"""What all workers together have for ending their tasks and closing their labs."""
INSISTS_S = 0.01
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@runtime_checkable
class CanClose(Protocol):
    """A lab that holds more than its sessions do."""

    def close(self) -> None:
        """Give it back."""


class Workers(Generic[Task, Answer]):
    """At most ``jobs`` processes. ``do`` is a function of a module; lab and target are resolved where it is called.

    Tasks and answers are pickled. A task must not be None.
    """

    def __init__(
        self,
        jobs: int,
        do: Callable[[Lab, Target, Task], Answer],
        lab: str,
        target: str,
        brought: Brought | None = None,
    ) -> None:
        """``brought``: a configuration for the target, see :func:`harness.trials.resolve.configured`."""
        self.left = min(jobs, MAX_JOBS)
        """How many have not failed, started or not."""
        self._about = (do, lab, target, brought)
        self._running: dict[Connection, Any] = {}
        self._busy: dict[Connection, Task] = {}
        """Who has a task whose answer nobody began to read."""

    def play(
        self, tasks: Iterable[Task], patience: Callable[[], float] = lambda: inf
    ) -> Iterator[tuple[Task, Answer | PairproofError]]:
        """Each task with its answer, as they end; a task is drawn when somebody is free for it.

        An error as the answer: the worker said it, or a LabError says that it ended; it gets no more tasks. Where
        nobody is left, or no answer comes within the seconds of ``patience``, the rest of the tasks is not done.
        """
        drawn = iter(tasks)
        while True:
            while len(self._busy) < self.left:
                try:
                    task = next(drawn)
                except StopIteration:
                    break
                self._give(task)
            longest = patience()
            ready = wait(list(self._busy), None if longest == inf else max(0.0, longest)) if self._busy else ()
            if not ready:
                return
            yield self._hear(next(each for each in ready if isinstance(each, Connection)))

    def play_in_order(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Answer | PairproofError]]:
        """The same, in the order of the tasks. Who is done is given the next task before anybody hears its answer.

        A few tasks are drawn ahead of the one whose answer comes next, and no more.
        """
        drawn, done = iter(tasks), dict[int, tuple[Task, Answer | PairproofError]]()
        given: dict[Connection, int] = {}
        begun = heard = 0
        while True:
            while len(self._busy) < self.left and begun - heard < AHEAD * self.left:
                try:
                    task = next(drawn)
                except StopIteration:
                    break
                given[self._give(task)] = begun
                begun += 1
            if heard == begun:
                return
            if heard in done:
                yield done.pop(heard)
                heard += 1
            for each in wait(list(self._busy), 0 if heard in done else None) if self._busy else ():
                assert isinstance(each, Connection)
                done[given[each]] = self._hear(each)

    def close(self) -> list[tuple[Task, Answer]]:
        """Interrupt who is busy and end all; what the interrupted tasks came to, where ``do`` caught the interrupt."""
        heard, until = [], monotonic() + GOODBYE_S
        for connection, process in self._running.items():
            with suppress(OSError):
                connection.send(None)
            if connection in self._busy:
                process.terminate()
        for connection in list(self._running):
            if connection in self._busy and connection.poll(max(0.0, until - monotonic())):
                task, answer = self._hear(connection, until)
                if not isinstance(answer, PairproofError):
                    heard.append((task, answer))
            self._end(connection, until)
        return heard

    def _give(self, task: Task) -> Connection:
        if len(self._running) == len(self._busy):
            self._start()
        connection = next(each for each in self._running if each not in self._busy)
        self._busy[connection] = task
        # One that has ended since is noticed when it is heard.
        with suppress(OSError):
            connection.send(task)
        return connection

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(*self._about, theirs), daemon=True)
        # It would unblock the signals if it were started with the first worker.
        resource_tracker.ensure_running()
        # A worker that is being started is interrupted neither by a terminal nor unknown to close().
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            process.start()
            theirs.close()
            self._running[ours] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _hear(self, connection: Connection, until: float | None = None) -> tuple[Task, Answer | PairproofError]:
        # First: if reading is interrupted, what comes next is no message.
        task = self._busy.pop(connection)
        try:
            answer: Answer | PairproofError = connection.recv()
        except (EOFError, OSError):
            code = self._end(connection, until)
            answer = LabError(
                f"a process that played trials ended with exit code {code}; with --jobs 1 it can be seen why"
            )
            self.left -= 1
        else:
            if isinstance(answer, PairproofError):
                self._end(connection, until)
                self.left -= 1
        return task, answer

    def _end(self, connection: Connection, until: float | None) -> int | None:
        process = self._running.get(connection)
        if process is None:
            return None
        connection.close()
        process.join(max(0.0, GOODBYE_S if until is None else until - monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
        del self._running[connection]
        return int(process.exitcode)


def _work(
    do: Callable[[Lab, Target, Any], Any],
    lab_name: str,
    target_name: str,
    brought: Brought | None,
    connection: Connection,
) -> None:
    lab: Lab | None = None
    try:
        try:
            _obey()
            lab, target = resolve.lab(lab_name), resolve.configured(target_name, brought)
            while (task := connection.recv()) is not None:
                connection.send(do(lab, target, task))
        except PairproofError as why:
            connection.send(why)
        finally:
            # Closing a lab must not be interrupted in turn.
            _deafen()
    except (KeyboardInterrupt, EOFError, ConnectionError):
        # Nobody wants to hear any more.
        pass
    finally:
        # Here, since a process of multiprocessing ends without what atexit was told.
        if isinstance(lab, CanClose):
            lab.close()


def _obey() -> None:
    """Ctrl-C is the business of whoever started this process, who then sends SIGTERM; so does the kernel at its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _interrupt)
    sys.unraisablehook = _insist
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid != os.getppid():
        # It ended before the kernel was told.
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Once.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _insist(swallowed: sys.UnraisableHookArgs) -> None:
    """An interrupt that came in the middle of a finalizer was heard by nobody: it comes again, a moment later."""
    if swallowed.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, INSISTS_S)
    else:
        sys.__unraisablehook__(swallowed)


def _deafen() -> None:
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
