"""Shrink a violation in a lab that is not deterministic, where the same schedule may show it only sometimes.

If a simulation shows it too, the schedule is shrunk there, exactly and at once; a target that no simulation runs may
have a ``model`` that one does. The smallest schedule may depend on the simulation's exact times: if the lab does not
show it twice, a larger intermediate schedule is taken that it does show. Otherwise candidates are executed several
times in the lab itself, and one fails if any execution violates the law. Each execution first asks whether there may be
more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .. import registry
from ..errors import PairproofError
from ..judging import judge as judging
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
STEADY = 2
"""Executions that must violate the law before a schedule from the simulation counts as shown in the lab."""
STEPS_BACK = 3
"""Larger schedules to try if the lab does not show the simulation's smallest."""
SIMULATION = "sim"


class Small(NamedTuple):
    schedule: Schedule
    shrunk_in: str
    shown: Trial | None
    """A trial of this schedule in the lab itself that violates the law; None if no execution did."""


def always() -> bool:
    """No limit."""
    return True


def shows(
    lab: Lab, target: Target, schedule: Schedule, law: str, times: int = REPEATS, laws: Laws | None = None,
    more: Callable[[], bool] = always,
) -> Trial | None:  # fmt: skip
    """The first of ``times`` executions that violates the law, judged by ``laws`` (default: this law); None if none
    does while there may be ``more``.
    """
    judged = judging.laws([law]) if laws is None else laws
    for _ in range(times):
        if not more():
            return None
        trial = run_trial(lab, target, schedule, origin="shrink", laws=judged)
        if trial.violates(law):
            return trial
    return None


Shown = Callable[[Schedule, int], Trial | None]
"""The first of so many executions of a schedule that shows the violation; None if none does."""


def _steady(shown_in: Shown, schedule: Schedule) -> list[Trial]:
    """Executions that violate the law, until they are steady or can no longer become so."""
    shown: list[Trial] = []
    for number in range(REPEATS):
        if len(shown) + REPEATS - number < STEADY or len(shown) == STEADY:
            break
        trial = shown_in(schedule, 1)
        shown += [trial] if trial is not None else []
    return shown


def _steadiest(shown_in: Shown, way: list[Schedule]) -> Small:
    """From the schedules between the original and the smallest, a small one that the lab shows ``STEADY`` times, found
    by bisection; else the smallest of those that it showed most often.
    """
    low, high = 0, len(way) - 1
    best, shown = way[high], _steady(shown_in, way[high])
    steps = STEPS_BACK if len(shown) < STEADY else 0
    while steps and low < high:
        steps -= 1
        middle = (low + high) // 2
        found = _steady(shown_in, way[middle])
        # A later steady one is smaller; an unsteady one is larger.
        if len(found) > len(shown) or len(found) == STEADY:
            best, shown = way[middle], found
        low, high = (middle + 1, high) if len(found) == STEADY else (low, middle)
    return Small(best, SIMULATION, shown[0] if shown else None)


def small(
    lab: Lab, target: Target, schedule: Schedule, law: str, more: Callable[[], bool], laws: Laws | None = None
) -> Small:
    """The smallest schedule found while there may be ``more`` executions, its lab, and a trial in ``lab`` that shows
    it, judged by ``laws`` (default: this law).
    """
    hosted, simulated = Hosted(lab, target), _simulated(lab, target, law)

    def shown_in(candidate: Schedule, times: int) -> Trial | None:
        return shows(lab, target, candidate, law, times, laws, more)

    if simulated is not None and simulated(schedule):
        way = [schedule]

        def taken(candidate: Schedule) -> bool:
            failed = more() and simulated(candidate)
            if failed:
                way.append(candidate)
            return failed

        shrunk(hosted, schedule, taken)
        return _steadiest(shown_in, way)
    shown: list[Trial] = []

    def fails(candidate: Schedule) -> bool:
        trial = shown_in(candidate, REPEATS)
        if trial is not None:
            shown[:] = [trial]
        return trial is not None

    found = shrunk(hosted, schedule, fails)
    # The last one that showed it is the final schedule.
    return Small(found, lab.name, shown[0] if shown else None)


def shrunk(hosted: Hosted, schedule: Schedule, fails: shrink.StillFails) -> Schedule:
    """A smaller schedule that fails after pacing."""
    system = resolve.system_of(hosted.target)
    short = system.short({})
    # Short intervals are not part of the failure: they are added again for each execution.
    own = {name: value for name, value in schedule.settings.items() if name not in short}
    found = shrink.shrink(
        system, schedule._replace(settings=own), lambda each: fails(paced(hosted, each)),
        resolve.own_settings(hosted.target),
    )  # fmt: skip
    return paced(hosted, found)


def _simulated(lab: Lab, target: Target, law: str) -> shrink.StillFails | None:
    """A test whether the simulation of the target or its model shows it; None if it runs neither."""
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
            # An operation or a setting that the simulation does not have.
            return False

    return fails


def simulation(lab: Lab, target: Target) -> tuple[Lab | None, Target, Args]:
    """A simulation of a lab's trials: the lab itself if it is deterministic, else the target's model under those of the
    user's settings that the model has; no lab without a model.
    """
    brought = resolve.under(target, {})
    if lab.deterministic:
        return lab, target, brought
    model = target.model if isinstance(target, HasModel) else None
    if model is None or SIMULATION not in registry.names("labs"):
        return None, target, brought
    known = {key: value for key, value in brought.items() if resolve.goes(model, {key: value})}
    return resolve.lab(SIMULATION), model, known
