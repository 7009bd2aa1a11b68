"""What is kept of a trial: what was counted in its history, and the history itself where somebody wants it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..history import Event
from ..runs.sampling import Sampling
from ..system import System
from ..trials.trial import Measured, Trial


class Retention(NamedTuple):
    """What is kept of a trial beside its verdicts."""

    sampling: Sampling | None = None
    """Of histories; None: all of them."""
    kinds: bool = False
    """How many events of each kind there were, for coverage minimums."""

    def of(self, system: System, trial: Trial, place: object) -> Trial:
        """A trial as it is handed over. ``place``: within its search, by which histories are drawn."""
        found = measured(system, trial.events, self.kinds)
        wanted = self.sampling is None or self.sampling.wants(trial, place)
        return trial._replace(measured=found, events=trial.events if wanted else [])


def measured(system: System, events: Sequence[Event], kinds: bool = False) -> Measured:
    """What this history came to; kinds of event where they are asked for."""
    return Measured(
        len(events),
        events[-1].t if events else 0,
        system.cover(events),
        system.objectives(events),
        Counter((each.kind, each.f) for each in events) if kinds else {},
        system.loss(events),
        system.replicated(events),
    )
