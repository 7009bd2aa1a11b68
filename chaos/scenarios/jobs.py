"""Plays several scenarios: in turn in this process, or side by side, each in a process and a lab of its own.

An interrupt ends every trial that is going on; what there is of them is handed over first. A lab that fails in the
middle of a trial ends that scenario only; one that cannot open a trial at all ends everything.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pairproof.chaos.scenarios.play import Plan, Played, Stopped, play
from pairproof.chaos.scenarios.scenario import Scenario
from pairproof.harness import resolve
from pairproof.harness.errors import EXIT_USAGE, LabError, PairproofError, UsageError
from pairproof.harness.ports import Session

MAX_JOBS = 16
MAX_PART = 20
"""Trials of one scenario that a process plays before another one may go on with the rest."""
GOODBYE_S = 60.0
"""How long an interrupted process has for closing its lab."""


class Watch(Protocol):
    """Hears what is going on."""

    def began(self, scenario: Scenario, number: int, total: int) -> None:
        """A scenario's trial with this number, from 1, begins."""

    def opened(self, session: Session) -> None:
        """Its session stands; not heard of trials in other processes."""

    def ended(self, scenario: Scenario, played: Played) -> None:
        """It is over."""


@runtime_checkable
class CanClose(Protocol):
    """A lab that holds more than its sessions do."""

    def close(self) -> None:
        """Give it back."""


Take = Callable[[Scenario, Played], None]


def run(scenarios: Sequence[Scenario], plan: Plan, jobs: int, watch: Watch, take: Take) -> None:
    """Play them all; ``take`` hears each trial. KeyboardInterrupt and what makes going on senseless pass through."""
    parts = [part for scenario in scenarios for part in _parts(scenario, len(plan.trials(scenario)))]
    if jobs > 1 and len(parts) > 1:
        _side_by_side(parts, plan, min(jobs, MAX_JOBS), watch, take)
        return
    lab, target = resolve.lab(plan.lab), resolve.target(plan.target)
    for scenario in scenarios:
        trials = plan.trials(scenario)
        for number, (case, seed) in enumerate(trials, 1):
            watch.began(scenario, number, len(trials))
            try:
                played = play(scenario, case, lab, target, seed, watch.opened)
            except Stopped as stopped:
                if stopped.played is not None:
                    watch.ended(scenario, stopped.played)
                    take(scenario, stopped.played)
                if stopped.played is None or not isinstance(stopped.why, LabError):
                    raise stopped.why from None
                break
            watch.ended(scenario, played)
            take(scenario, played)


class Part(NamedTuple):
    """Trials of a scenario that are played in turn: from ``first`` to before ``end``, counted from 0."""

    scenario: Scenario
    first: int
    end: int
    total: int


def _parts(scenario: Scenario, total: int) -> list[Part]:
    # The longest enumeration must not outlast everything else.
    return [Part(scenario, first, min(first + MAX_PART, total), total) for first in range(0, total, MAX_PART)]


class Told(NamedTuple):
    """What a process says: a trial that ended, or, in ``why`` and ``code``, that nothing else will come."""

    number: int
    total: int
    played: Played | None
    why: str = ""
    code: int = 0
    over: bool = False


class _Running(NamedTuple):
    process: Any
    part: Part


def _side_by_side(parts: Sequence[Part], plan: Plan, jobs: int, watch: Watch, take: Take) -> None:
    left = list(parts)
    running: dict[Connection, _Running] = {}
    # Not forked: a terminal's view is drawn by a thread.
    context = multiprocessing.get_context("spawn")
    try:
        while left or running:
            while left and len(running) < jobs:
                part = left.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(part, plan, theirs), daemon=False)
                process.start()
                theirs.close()
                running[ours] = _Running(process, part)
                watch.began(part.scenario, part.first + 1, part.total)
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                _hear(connection, running, watch, take)
    finally:
        _end(running, watch, take)


def _hear(connection: Connection, running: dict[Connection, _Running], watch: Watch, take: Take) -> None:
    process, part = running[connection]
    scenario = part.scenario
    try:
        told: Told = connection.recv()
    except EOFError:
        running.pop(connection)
        connection.close()
        process.join(GOODBYE_S)
        raise LabError(f"the process that played {scenario.name} ended with {process.exitcode}; run it alone") from None
    if told.played is not None:
        watch.ended(scenario, told.played)
        take(scenario, told.played)
    if told.over:
        running.pop(connection)
        connection.close()
        process.join(GOODBYE_S)
        if told.why:
            raise (UsageError if told.code == EXIT_USAGE else LabError)(told.why)
    elif told.number < part.end:
        watch.began(scenario, told.number + 1, told.total)


def _end(running: dict[Connection, _Running], watch: Watch, take: Take) -> None:
    """Interrupt whoever still runs, and hear what there is."""
    for process, _ in running.values():
        process.terminate()
    for connection in list(running):
        process, part = running[connection]
        try:
            while connection.poll(GOODBYE_S):
                told: Told = connection.recv()
                if told.played is not None:
                    watch.ended(part.scenario, told.played)
                    take(part.scenario, told.played)
        except (EOFError, OSError):
            pass
        connection.close()
        process.join(GOODBYE_S)
        if process.is_alive():
            process.kill()
            process.join()


def _work(part: Part, plan: Plan, connection: Connection) -> None:
    """A part of a scenario in a process of its own. Ctrl-C is the parent's business, which then sends SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    scenario, first, end, total = part
    why, code, lab = "", 0, None
    try:
        lab, target = resolve.lab(plan.lab), resolve.target(plan.target)
        for number, (case, seed) in enumerate(plan.trials(scenario)[first:end], first + 1):
            connection.send(Told(number, total, play(scenario, case, lab, target, seed)))
    except Stopped as stopped:
        failed_midway = stopped.played is not None and isinstance(stopped.why, LabError)
        if not failed_midway and isinstance(stopped.why, PairproofError):
            why, code = str(stopped.why), stopped.why.exit_code
        connection.send(Told(total, total, stopped.played, why, code, over=True))
    except PairproofError as error:
        connection.send(Told(total, total, None, str(error), error.exit_code, over=True))
    except KeyboardInterrupt:
        pass
    else:
        connection.send(Told(total, total, None, over=True))
    finally:
        # Here, since a process of multiprocessing ends without what atexit was told.
        if isinstance(lab, CanClose):
            lab.close()
    connection.close()


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Once: closing a lab must not be interrupted in turn.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
