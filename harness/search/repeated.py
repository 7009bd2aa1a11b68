"""Makes a violation small where the lab is not deterministic: there the same schedule may show it once and not again.

If a simulation shows it too, the schedule is shrunk there, exactly and at once; a target that no simulation runs may
have a ``model`` that one does. The smallest one may owe its failure to the simulation's exact times: where the lab does
not show it twice, a larger one on the way to it is taken that it does. Otherwise candidates are executed several times
in the lab itself, and one counts as failing if any of its executions violates the law. Each
execution asks first whether there may be more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .. import registry
from ..errors import PairproofError
from ..judging import judge as judging
from ..judging.verdict import Verdict
from ..ports import Lab, Target
from ..trials import resolve
from ..trials.abilities import Hosted
from ..trials.interpreter import Laws, run_trial
from ..trials.resolve import HasModel
from ..trials.schedule import Args, Schedule
from ..trials.trial import Trial
from . import shrink
from .pacing import paced

REPEATS = 3
"""Executions of one candidate at most."""
STEADY = 2
"""How many of them must violate the law before a schedule from the simulation is taken to show it here."""
STEPS_BACK = 3
"""How many larger ones are executed where the smallest of the simulation does not."""
SIMULATION = "sim"
"""The lab in which a violation is looked for first."""


class Small(NamedTuple):
    """What became of a schedule."""

    schedule: Schedule
    shrunk_in: str
    """The name of the lab in which it was made small."""
    shown: Trial | None
    """A trial in the lab itself of this schedule that violates the law; None if no execution did."""


def violates(trial: Trial, law: str) -> bool:
    """Whether the law is violated in this trial."""
    return any(each.law == law and each.verdict is Verdict.VIOLATED for each in trial.judgements)


def always() -> bool:
    """There may be more."""
    return True


def shows(
    lab: Lab, target: Target, schedule: Schedule, law: str, times: int = REPEATS, laws: Laws | None = None,
    more: Callable[[], bool] = always,
) -> Trial | None:  # fmt: skip
    """The first of so many executions that violates the law, judged by ``laws`` (this one, unless told); None if none
    does as long as there may be ``more``."""
    judged = judging.laws([law]) if laws is None else laws
    for _ in range(times):
        if not more():
            return None
        trial = run_trial(lab, target, schedule, origin="shrink", laws=judged)
        if violates(trial, law):
            return trial
    return None


Shown = Callable[[Schedule, int], Trial | None]
"""The first of so many executions of a schedule that shows the violation, None if none does."""


def _steady(shown_in: Shown, schedule: Schedule) -> list[Trial]:
    """Executions that violate the law, until they are steady or cannot be any more."""
    shown: list[Trial] = []
    for number in range(REPEATS):
        if len(shown) + REPEATS - number < STEADY or len(shown) == STEADY:
            break
        trial = shown_in(schedule, 1)
        shown += [trial] if trial is not None else []
    return shown


def _steadiest(shown_in: Shown, way: list[Schedule]) -> Small:
    """Of schedules from the whole one to the smallest a small one that the lab shows ``STEADY`` times, found by
    halving the way; or else the smallest of those that it showed most often."""
    low, high = 0, len(way) - 1
    best, shown = way[high], _steady(shown_in, way[high])
    steps = STEPS_BACK if len(shown) < STEADY else 0
    while steps and low < high:
        steps -= 1
        middle = (low + high) // 2
        found = _steady(shown_in, way[middle])
        # A steady one that comes later is smaller; an unsteady one is larger.
        if len(found) > len(shown) or len(found) == STEADY:
            best, shown = way[middle], found
        low, high = (middle + 1, high) if len(found) == STEADY else (low, middle)
    return Small(best, SIMULATION, shown[0] if shown else None)


def small(
    lab: Lab, target: Target, schedule: Schedule, law: str, more: Callable[[], bool], laws: Laws | None = None
) -> Small:
    """The smallest schedule found as long as there may be ``more`` executions, where that was, and a trial in ``lab``
    that shows it, judged by ``laws`` (this one, unless told)."""
    place, simulated = Hosted(lab, target), _simulated(lab, target, law)

    def shown_in(candidate: Schedule, times: int) -> Trial | None:
        return shows(lab, target, candidate, law, times, laws, more)

    if simulated is not None and simulated(schedule):
        way = [schedule]

        def taken(candidate: Schedule) -> bool:
            failed = more() and simulated(candidate)
            if failed:
                way.append(candidate)
            return failed

        shrunk(place, schedule, taken)
        return _steadiest(shown_in, way)
    shown: list[Trial] = []

    def fails(candidate: Schedule) -> bool:
        trial = shown_in(candidate, REPEATS)
        if trial is not None:
            shown[:] = [trial]
        return trial is not None

    found = shrunk(place, schedule, fails)
    # The last one that showed it is the one that was taken.
    return Small(found, lab.name, shown[0] if shown else None)


def shrunk(place: Hosted, schedule: Schedule, fails: shrink.StillFails) -> Schedule:
    """A smaller schedule that fails as it is paced."""
    system = resolve.system_of(place.target)
    short = system.short({})
    # Short intervals are no part of what makes it fail: they are put back into whatever is executed.
    own = {name: value for name, value in schedule.settings.items() if name not in short}
    found = shrink.shrink(
        system, schedule._replace(settings=own), lambda each: fails(paced(place, each)),
        resolve.own_settings(place.target),
    )  # fmt: skip
    return paced(place, found)


def _simulated(lab: Lab, target: Target, law: str) -> shrink.StillFails | None:
    """Whether the simulation shows it, of the target or its model; None where it runs neither."""
    if lab.name == SIMULATION or SIMULATION not in registry.names("labs"):
        return None
    simulation = resolve.lab(SIMULATION)
    model = target.model if isinstance(target, HasModel) else None
    acted = target if resolve.takes(simulation, target) else model
    if acted is None:
        return None

    def fails(candidate: Schedule) -> bool:
        try:
            return shows(simulation, acted, candidate, law, times=1) is not None
        except PairproofError:
            # An operation, or a setting, that the simulation knows nothing of.
            return False

    return fails


def simulation(lab: Lab, target: Target) -> tuple[Lab | None, Target, Args]:
    """A simulation of what a lab plays: itself if it is deterministic, else the target's model under those brought
    settings that the model has; no lab where there is no model."""
    brought = resolve.under(target, {})
    if lab.deterministic:
        return lab, target, brought
    model = target.model if isinstance(target, HasModel) else None
    if model is None or SIMULATION not in registry.names("labs"):
        return None, target, brought
    known = {key: value for key, value in brought.items() if resolve.goes(model, {key: value})}
    return resolve.lab(SIMULATION), model, known
