"""The retained parts of a trial: its measurements, and its history if it is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..history import Event
from ..runs.sampling import Sampling
from ..system import System
from ..trials.trial import Measured, Trial


class Retention(NamedTuple):
    sampling: Sampling | None = None
    """For histories; None: keep all of them."""
    kinds: bool = False
    """Whether to count events by type, for coverage minimums."""

    def of(self, system: System, trial: Trial, position: object) -> Trial:
        """A trial with only its retained parts. ``position``: that in its search, by which histories are
        sampled.
        """
        found = measured(system, trial.events, self.kinds)
        wanted = self.sampling is None or self.sampling.wants(trial, position)
        return trial._replace(measured=found, events=trial.events if wanted else [])


def measured(system: System, events: Sequence[Event], kinds: bool = False) -> Measured:
    """The measurements of a history; ``kinds``: with counts by event type."""
    return Measured(
        len(events),
        events[-1].t if events else 0,
        system.cover(events),
        system.objectives(events),
        Counter((each.kind, each.f) for each in events) if kinds else {},
        system.loss(events),
        system.replicated(events),
    )
