"""Processes that do tasks in parallel, each in its own lab, one task after another.

Every worker has at most one task, and gets the next one after its answer was received, so no queue builds up. Workers
are spawned, not forked, since the caller may have threads. An interrupt ends the current task. A worker closes its lab
when it ends, also if the parent process was killed.
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
"""Tasks per worker that are drawn ahead when answers are processed in order."""
GOODBYE_S = 60.0
"""The time limit for all workers to end their tasks and close their labs."""
INSISTS_S = 0.01
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@runtime_checkable
class CanClose(Protocol):
    """A lab with resources beyond its sessions."""

    def close(self) -> None:
        """Release the resources."""


class Workers(Generic[Task, Answer]):
    """At most ``jobs`` processes. ``do`` is a module's function; lab and target are resolved in the worker.

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
        """Workers that have not failed, started or not."""
        self._about = (do, lab, target, brought)
        self._running: dict[Connection, Any] = {}
        self._busy: dict[Connection, Task] = {}
        """Workers with a task whose answer is not yet being read."""

    def play(
        self, tasks: Iterable[Task], patience: Callable[[], float] = lambda: inf
    ) -> Iterator[tuple[Task, Answer | PairproofError]]:
        """Each task with its answer, as they end; a task is drawn when a worker is free.

        An answer may be an error: the worker's own, or a LabError for its end; that worker gets no more tasks. If no
        worker is left, or no answer comes within the seconds of ``patience``, the remaining tasks are not done.
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
            yield self._receive(next(each for each in ready if isinstance(each, Connection)))

    def play_in_order(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Answer | PairproofError]]:
        """:meth:`play` in the order of the tasks. A free worker gets its next task before its answer is returned here.

        Only a few tasks are drawn ahead of the next answer.
        """
        drawn, done = iter(tasks), dict[int, tuple[Task, Answer | PairproofError]]()
        given: dict[Connection, int] = {}
        begun = received = 0
        while True:
            while len(self._busy) < self.left and begun - received < AHEAD * self.left:
                try:
                    task = next(drawn)
                except StopIteration:
                    break
                given[self._give(task)] = begun
                begun += 1
            if received == begun:
                return
            if received in done:
                yield done.pop(received)
                received += 1
            for each in wait(list(self._busy), 0 if received in done else None) if self._busy else ():
                assert isinstance(each, Connection)
                done[given[each]] = self._receive(each)

    def close(self) -> list[tuple[Task, Answer]]:
        """Interrupt busy workers and end all; returns the answers of interrupted tasks if ``do`` caught the
        interrupt.
        """
        received, until = [], monotonic() + GOODBYE_S
        for connection, process in self._running.items():
            with suppress(OSError):
                connection.send(None)
            if connection in self._busy:
                process.terminate()
        for connection in list(self._running):
            if connection in self._busy and connection.poll(max(0.0, until - monotonic())):
                task, answer = self._receive(connection, until)
                if not isinstance(answer, PairproofError):
                    received.append((task, answer))
            self._end(connection, until)
        return received

    def _give(self, task: Task) -> Connection:
        if len(self._running) == len(self._busy):
            self._start()
        connection = next(each for each in self._running if each not in self._busy)
        self._busy[connection] = task
        # A worker that has ended since is noticed when its answer is received.
        with suppress(OSError):
            connection.send(task)
        return connection

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(*self._about, theirs), daemon=True)
        # Started with the first worker, it would unblock the signals.
        resource_tracker.ensure_running()
        # While a worker starts, a terminal must not interrupt it, and close() must see it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            process.start()
            theirs.close()
            self._running[ours] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _receive(self, connection: Connection, until: float | None = None) -> tuple[Task, Answer | PairproofError]:
        # First: after an interrupted read the stream is out of step.
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
            _end_with_parent()
            lab, target = resolve.lab(lab_name), resolve.configured(target_name, brought)
            while (task := connection.recv()) is not None:
                connection.send(do(lab, target, task))
        except PairproofError as why:
            connection.send(why)
        finally:
            # Closing a lab must not be interrupted in turn.
            _ignore_signals()
    except (KeyboardInterrupt, EOFError, ConnectionError):
        # The parent no longer reads answers.
        pass
    finally:
        # Here, since a process of multiprocessing does not run atexit handlers.
        if isinstance(lab, CanClose):
            lab.close()


def _end_with_parent() -> None:
    """Ctrl-C is handled by the parent, which then sends SIGTERM; so does the kernel when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _interrupt)
    sys.unraisablehook = _insist
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid != os.getppid():
        # The parent ended before the kernel was asked.
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _insist(swallowed: sys.UnraisableHookArgs) -> None:
    """An interrupt within a finalizer is swallowed: raise it again a moment later."""
    if swallowed.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, INSISTS_S)
    else:
        sys.__unraisablehook__(swallowed)


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
