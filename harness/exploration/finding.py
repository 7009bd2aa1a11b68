"""From a violating trial to findings: the laws that the smallest program violates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..judging import judge as judging
from ..judging.cause import cause, violated
from ..ports import Lab, Target
from ..search import shrink
from ..search.repeated import always
from ..trials import resolve
from ..trials.interpreter import run_trial
from ..trials.schedule import Schedule
from ..trials.trial import Finding, Trial


class Small(NamedTuple):
    """A shrunk schedule, the lab that shrunk it, and its trial, or else the original trial."""

    schedule: Schedule
    lab: str
    trial: Trial


def smallest(lab: Lab, target: Target, schedule: Schedule, law: str, more: Callable[[], bool] = always) -> Schedule:
    """The smallest schedule that still violates the law in a deterministic lab, while there may be ``more``
    candidates.
    """
    laws = judging.laws([law])

    def fails(each: Schedule) -> bool:
        return more() and bool(violated(run_trial(lab, target, each, origin="shrink", laws=laws)))

    return shrink.shrink(resolve.system_of(target), schedule, fails, resolve.own_settings(target))


def findings_of(lab: Lab, target: Target, trial: Trial, law: str, small: Small) -> tuple[Trial, list[Finding]]:
    """A finding for every law that the small program violates, and its trial.

    If the small program does not show the violation (a nondeterministic lab), the original trial is the only evidence.
    """
    broken = violated(small.trial)
    if law not in {each.law for each in broken}:
        small = Small(trial.schedule, lab.name, trial)
        broken = [each for each in violated(trial) if each.law == law]
    shown, why = small.trial, cause(small.trial)
    # The user's configuration is part of every trial's settings and so of the finding: its file is enough for a replay.
    schedule = small.schedule._replace(settings=resolve.under(target, small.schedule.settings))
    elsewhere = small.lab if small.lab != lab.name else ""
    return shown, [
        Finding(
            each.law, each.violations[0].text, target.name, lab.name, trial.number, shown.number, schedule,
            len(trial.schedule.ops), elsewhere, why, trial.origin, trial.source,
        )
        for each in broken
    ]  # fmt: skip
