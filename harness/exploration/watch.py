"""The time of one exploration. A limit in seconds covers the whole run, including shrinking.

In real-time labs a trial begins only if it is likely to end within the limit, given the duration of earlier trials. A
trial that exceeds the limit by :data:`LATE` of it, or by :data:`LATE_S`, is cut off and not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

from ..trials.trial import Trial

LATE, LATE_S = 0.1, 30.0
SHRINK_S = 120.0
"""Seconds per violation, or the duration of :data:`SHRINK_TRIALS`, if that is longer."""
SHRINK_TRIALS = 20
SHRINKING = 0.5
"""The largest share of shrinking in a limit in seconds."""
VIOLATIONS = 3
"""The number of violations with their whole time if there is no limit."""


class Watch:
    """``seconds``: the limit; None if trials are limited."""

    def __init__(self, seconds: float | None, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self.clock = clock
        self.shrinking_s = 0.0
        self._trials = 0
        self._trials_s = 0.0
        self.begin()

    def begin(self) -> None:
        self._began = self.clock()

    def so_far(self) -> float:
        return self.clock() - self._began

    def take(self, trial: Trial) -> None:
        self._trials += 1
        self._trials_s += trial.took_s

    @property
    def trial_s(self) -> float:
        """The mean duration of a trial; 0 in a simulation."""
        return self._trials_s / max(1, self._trials)

    def ending(self) -> float:
        """When a trial that begins now is likely to end."""
        return self.so_far() + self.trial_s

    def left(self) -> float:
        """How long trials may still begin, s."""
        return inf if self.seconds is None else self.seconds - self.ending()

    def patience(self) -> float:
        """How long to wait for the end of a trial after another one has ended, s."""
        if self.seconds is None or not self._trials:
            return inf
        return self.seconds + min(LATE * self.seconds, LATE_S) - self.so_far()

    def more(self, at_least: float = 0.0) -> Callable[[], bool]:
        """A test whether another trial may begin; always true for the first ``at_least`` seconds."""
        until = self.clock() + max(self.left(), at_least)
        return lambda: self.clock() < until

    def shrink(self) -> Callable[[], bool]:
        """The same test for shrinking one violation in real time."""
        own = max(SHRINK_S, SHRINK_TRIALS * self.trial_s)
        most = VIOLATIONS * own if self.seconds is None else SHRINKING * self.seconds
        until = self.clock() + min(own, most - self.shrinking_s, self.left())
        return lambda: self.clock() < until

    @contextmanager
    def shrinking(self) -> Iterator[None]:
        """Add the duration of the block to ``shrinking_s``."""
        began = self.clock()
        try:
            yield
        finally:
            self.shrinking_s += self.clock() - began
