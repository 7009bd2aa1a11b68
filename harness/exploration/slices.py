"""Slices of an exploration: a few trials of one search, which any free worker can play, and their retention.

In a deterministic lab :func:`play` is pure: a run has the same trials with any number of processes and any slicing,
except that the machine plays whole batches. A trial's history stays in its process unless it is wanted; its
measurements are returned (:class:`~harness.trials.trial.Measured`).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import NamedTuple

from ..errors import UsageError
from ..ports import Lab, Target
from ..search import fault_pairs, machine, swarm, sweep
from ..search.pacing import paced
from ..system import Draw, Enumerate, System
from ..trials import resolve
from ..trials.abilities import Hosted
from ..trials.interpreter import Laws, run_trial
from ..trials.retry import until_decided, was_stalled
from ..trials.schedule import Schedule
from ..trials.trial import Trial, not_played
from .retention import Retention

SWEEP = "sweep"
MACHINE = "machine"
"""The search that draws during execution."""
SLICE = 8
"""Trials of a slice: a tenth of a second, which keeps the wait for the last one short."""

Listed = tuple[Schedule, str]
"""A schedule of an enumerating search, and the known bug of its program, if any."""


class Slice(NamedTuple):
    """Trials ``first`` to ``first + trials - 1`` of a search; in real-time labs of the machine, too."""

    origin: str
    seed: str
    first: int
    trials: int
    laws: Laws
    retention: Retention
    listed: tuple[Listed, ...] = ()
    """These trials, if a search has listed them; otherwise they derive from seed and number."""


def size(origin: str, lab: Lab, jobs: int) -> int:
    """The number of trials of a slice of this search. A process that plays slices itself checks its limits before
    each.
    """
    if not lab.deterministic:
        return 1
    return machine.BATCH if origin == MACHINE else SLICE if jobs > 1 else 1


def play(lab: Lab, target: Target, part: Slice) -> Iterator[Trial]:
    """Play the trials of a slice in order, with only their retained parts."""
    system = resolve.system_of(target)
    for number, trial in enumerate(_trials(lab, target, system, part), part.first):
        yield trial if trial.refused else part.retention.of(system, trial, f"{part.origin}/{number}")


def played(lab: Lab, target: Target, part: Slice) -> list[Trial]:
    """:func:`play` as a list."""
    with rare_collection():
        return list(play(lab, target, part))


def enumerated(system: System) -> Mapping[str, Enumerate]:
    """The searches that end, by name."""
    return {SWEEP: sweep.schedules, **system.enumerated}


def seeded(system: System) -> Mapping[str, Draw]:
    """The endless searches, by name."""
    return {
        "fault-pairs": partial(fault_pairs.schedule, system),
        "swarm": partial(swarm.schedule, system),
        **system.seeded,
    }


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect garbage rarely. A trial leaves some 2,000 objects in cycles; scanning all live objects during it costs a
    tenth of the time. Takes 70 MB more.
    """
    before = gc.get_threshold()
    gc.set_threshold(500_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _trials(lab: Lab, target: Target, system: System, part: Slice) -> Iterator[Trial]:
    if part.origin == MACHINE and lab.deterministic:
        yield from machine.batch(lab, target, part.laws, part.seed, part.first // machine.BATCH, part.trials)
        return
    for index in range(part.trials):
        began = monotonic()
        trial, again = until_decided(partial(_once, lab, target, system, part, index), was_stalled)
        yield trial if lab.deterministic else trial._replace(again=again, took_s=monotonic() - began)


def _once(lab: Lab, target: Target, system: System, part: Slice, index: int) -> Trial:
    number = part.first + index
    if part.origin == MACHINE:
        return machine.play(lab, target, part.laws, part.seed, number)
    if part.listed:
        schedule, source = part.listed[index]
    else:
        schedule, source = seeded(system)[part.origin](part.seed, number, Hosted(lab, target)), ""
    schedule = resolve.scheduled(target, resolve.cut_down(schedule))
    fitted = schedule if lab.deterministic else paced(Hosted(lab, target), schedule)
    try:
        return run_trial(lab, target, fitted, origin=part.origin, laws=part.laws)._replace(source=source)
    except UsageError as why:
        # The user did not ask for this drawn schedule, so this is not a usage error.
        return not_played(part.origin, fitted, why)
