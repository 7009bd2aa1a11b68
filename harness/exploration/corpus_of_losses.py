"""The corpus of losses in one exploration: which of its programs a lab can play, and small programs of what was lost.

A target has one only under a configuration that somebody brought: otherwise each search draws its own settings, and the
sums would be those of many deployments. Programs are shrunk in the simulation, where a trial costs nothing; those of a
real target in that of its model, and stay as they were played where the model does not show the loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
"""Candidates for the smallest program that loses something in one class."""


def listed(lab: Lab, target: Target) -> tuple[Losses, list[Listed]]:
    """The table, and the programs that the lab can play, each with its class."""
    if resolve.brought(target) is None:
        return Losses(), []
    place = Hosted(lab, target)
    programs = list(resolve.system_of(target).loss_programs(resolve.under(target, {})))
    lacks = {each.name: lacking(place, each.schedule.ops, resolve.faults(), resolve.operations()) for each in programs}
    impossible = {name: f"{IMPOSSIBLE}: the lab cannot {_plain(names)}" for name, names in lacks.items() if names}
    played = [(each.schedule, each.name) for each in programs if each.name not in impossible]
    return Losses(programs, impossible), played


def _plain(abilities: Iterable[str]) -> str:
    """``CanFillDisk`` as ``fill disk``."""
    return " or ".join(re.sub("(?<=.)([A-Z])", r" \1", each.removeprefix("Can")).lower() for each in abilities)


def shrink_shown(lab: Lab, target: Target, found: Losses) -> None:
    """Make the program of each class of the corpus that lost something small."""
    simulation, model, own = repeated.simulation(lab, target)
    system = resolve.system_of(target)
    if simulation is None:
        return
    for key in [each for each in found.classes if each in found.shown]:

        def loses(candidate: Schedule, key: tuple[str, str] = key) -> bool:
            if not any(op.do == system.traffic[0].do for op in candidate.ops):
                # It would lose the lab's own first message only.
                return False
            loss = system.loss(run_trial(simulation, model, candidate, laws=()).events)
            return loss is not None and (loss.fault, loss.of) == key and bool(loss.lost)

        shown = found.shown[key] if simulation is lab else found.shown[key]._replace(settings=own)
        with suppress(PairproofError):
            found.shown[key] = shrink.shrink(system, shown, loses, frozenset(own), RUNS)
