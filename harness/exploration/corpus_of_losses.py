"""The corpus of losses in one exploration: the programs that a lab can play, and small programs for the losses.

A target has this corpus only under a user's configuration: otherwise each search draws its own settings, and the sums
would mix many deployments. Programs are shrunk in the simulation, where a trial costs nothing. A real target is
replaced by its model; if the model does not show the loss, the program stays as it was played.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ..errors import PairproofError
from ..ports import Lab, Target
from ..search import repeated, shrink
from ..trials import resolve
from ..trials.abilities import Hosted, lacking
from ..trials.interpreter import run_trial
from ..trials.schedule import Schedule
from .losses import IMPOSSIBLE, Losses
from .slices import Listed

RUNS = 150
"""Candidates for the smallest losing program of a class."""


def listed(lab: Lab, target: Target) -> tuple[Losses, list[Listed]]:
    """The table, and the programs that the lab can play, each with its class."""
    if resolve.brought(target) is None:
        return Losses(), []
    hosted = Hosted(lab, target)
    programs = list(resolve.system_of(target).loss_programs(resolve.under(target, {})))
    lacks = {each.name: lacking(hosted, each.schedule.ops, resolve.faults(), resolve.operations()) for each in programs}
    impossible = {name: f"{IMPOSSIBLE}: {resolve.takes_that(each, target)}" for name, each in lacks.items() if each}
    played = [(each.schedule, each.name) for each in programs if each.name not in impossible]
    return Losses(programs, impossible), played


def shrink_shown(lab: Lab, target: Target, found: Losses, more: Callable[[], bool]) -> None:
    """Shrink the program of each class with a loss, while there may be ``more`` candidates."""
    simulation, model, own = repeated.simulation(lab, target)
    system = resolve.system_of(target)
    if simulation is None:
        return
    for key in [each for each in found.classes if each in found.shown]:

        def loses(candidate: Schedule, key: tuple[str, str] = key) -> bool:
            if not more() or not any(op.do == system.traffic[0].do for op in candidate.ops):
                # Without a send only the lab's first message could be lost.
                return False
            loss = system.loss(run_trial(simulation, model, candidate, laws=()).events)
            return loss is not None and (loss.fault, loss.of) == key and bool(loss.lost)

        shown = found.shown[key] if simulation is lab else found.shown[key]._replace(settings=own)
        with suppress(PairproofError):
            found.shown[key] = shrink.shrink(system, shown, loses, frozenset(own), RUNS)
