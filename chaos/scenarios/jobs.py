"""Plays several scenarios: in turn in this process, or concurrent trials in processes with their own labs.

An interrupt ends every running trial, after its partial results are passed on. A lab that fails in the middle of a
trial ends that scenario only; one that cannot open a trial at all ends everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from ...harness.errors import LabError, PairproofError
from ...harness.ports import Lab, Session, Target
from ...harness.trials import resolve
from ...harness.trials.retry import until_decided
from ...harness.trials.workers import Workers
from .play import Plan, Played, Stopped, play
from .scenario import Case, Scenario


class Watch(Protocol):
    def began(self, scenario: Scenario, number: int, total: int) -> None:
        """A scenario's trial with this number, from 1, begins."""

    def opened(self, session: Session) -> None:
        """Its session is open; not called for trials in other processes."""

    def ended(self, scenario: Scenario, played: Played) -> None:
        """It has ended."""


Take = Callable[[Scenario, Played], None]


class Task(NamedTuple):
    scenario: Scenario
    case: Case
    seed: str


class Ended(NamedTuple):
    """A finished or partial trial, and ``why`` it ended early."""

    played: Played | None
    why: BaseException | None = None


def run(scenarios: Sequence[Scenario], plan: Plan, jobs: int, watch: Watch, take: Take) -> None:
    """Play them all; ``take`` receives each trial. KeyboardInterrupt and fatal errors are raised."""
    failed: set[str] = set()

    def tasks() -> Iterator[Task]:
        for scenario in scenarios:
            trials = plan.trials(scenario)
            for number, (case, seed) in enumerate(trials, 1):
                if scenario.name in failed:
                    break
                watch.began(scenario, number, len(trials))
                yield Task(scenario, case, seed)

    def hand_over(task: Task, ended: Ended) -> None:
        if ended.played is not None:
            watch.ended(task.scenario, ended.played)
            take(task.scenario, ended.played)

    def receive(task: Task, ended: Ended) -> None:
        hand_over(task, ended)
        if ended.why is not None:
            if ended.played is None or not isinstance(ended.why, LabError):
                raise ended.why
            failed.add(task.scenario.name)

    if jobs == 1 or sum(len(plan.trials(each)) for each in scenarios) == 1:
        lab, target = resolve.lab(plan.lab), resolve.configured(plan.target, plan.brought)
        for task in tasks():
            receive(task, _played(lab, target, task, watch.opened))
        return
    workers = Workers(jobs, _played, plan.lab, plan.target, plan.brought)
    try:
        for task, answer in workers.play(tasks()):
            receive(task, Ended(None, answer) if isinstance(answer, PairproofError) else answer)
    finally:
        for task, ended in workers.close():
            hand_over(task, ended)


def _played(lab: Lab, target: Target, task: Task, opened: Callable[[Session], None] = lambda session: None) -> Ended:
    try:
        played, again = until_decided(
            lambda: play(task.scenario, task.case, lab, target, task.seed, opened), lambda each: each.was_stalled
        )
        return Ended(played._replace(trial=played.trial._replace(again=again)))
    except Stopped as stopped:
        return Ended(stopped.played, stopped.why)
