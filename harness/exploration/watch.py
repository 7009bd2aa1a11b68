"""The time of one exploration: a bound in seconds is that of the whole run, shrinking included.

Where a trial is dear (labs with real time), one begins only if it is likely to end within the bound, by what a trial
took so far; one that goes on for :data:`LATE` of the bound, or :data:`LATE_S`, beyond it is cut off and not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

from ..trials.trial import Trial

LATE, LATE_S = 0.1, 30.0
SHRINK_S = 120.0
"""For one violation, s, or as long as :data:`SHRINK_TRIALS` last, where that is longer."""
SHRINK_TRIALS = 20
SHRINKING = 0.5
"""The most that shrinking has of a bound in seconds."""
VIOLATIONS = 3
"""That many may have their whole time where there is none."""


class Watch:
    """``seconds``: the bound, None where trials are."""

    def __init__(self, seconds: float | None, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self.clock = clock
        self.shrinking_s = 0.0
        self._trials = 0
        self._trials_s = 0.0
        self.begin()

    def begin(self) -> None:
        """The run begins now."""
        self._began = self.clock()

    def so_far(self) -> float:
        """Seconds since then."""
        return self.clock() - self._began

    def take(self, trial: Trial) -> None:
        """Learn what a trial takes."""
        self._trials += 1
        self._trials_s += trial.took_s

    @property
    def trial_s(self) -> float:
        """The mean of what a trial took; 0 where it is cheap."""
        return self._trials_s / max(1, self._trials)

    def ending(self) -> float:
        """When a trial that begins now is likely to end."""
        return self.so_far() + self.trial_s

    def left(self) -> float:
        """For how long trials may still begin."""
        return inf if self.seconds is None else self.seconds - self.ending()

    def patience(self) -> float:
        """For how long the end of a trial is waited for, once one has ended."""
        if self.seconds is None or not self._trials:
            return inf
        return self.seconds + min(LATE * self.seconds, LATE_S) - self.so_far()

    def more(self, at_least: float = 0.0) -> Callable[[], bool]:
        """Whether another trial may begin, if asked within so many seconds in any case."""
        until = self.clock() + max(self.left(), at_least)
        return lambda: self.clock() < until

    def shrink(self) -> Callable[[], bool]:
        """The same for one violation, where a trial is dear."""
        own = max(SHRINK_S, SHRINK_TRIALS * self.trial_s)
        most = VIOLATIONS * own if self.seconds is None else SHRINKING * self.seconds
        until = self.clock() + min(own, most - self.shrinking_s, self.left())
        return lambda: self.clock() < until

    @contextmanager
    def shrinking(self) -> Iterator[None]:
        """Add what is done within to ``shrinking_s``."""
        began = self.clock()
        try:
            yield
        finally:
            self.shrinking_s += self.clock() - began
