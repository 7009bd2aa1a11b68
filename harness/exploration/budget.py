"""The searches' shares of a run's seconds or trials.

With a budget in trials an exploration in a deterministic lab is a function of its seed: the same trials with the same
numbers on any machine. Trials of the corpora and of shrinking do not count, but their seconds do. A search leaves its
unused share to the later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import ceil, inf
from typing import NamedTuple

from ..errors import UsageError
from ..ports import Lab
from .profiles import ALL, KNOWN_BUGS, REAL, REAL_TIME_LABS, Profile

MANY = 1_000
"""More trials than a real-time lab plays in a working day."""


class Budget(NamedTuple):
    """Seconds, trials, or ``counts`` by origin. With both seconds and trials, so many trials are demanded within the
    seconds.
    """

    shares: Mapping[str, float]
    seconds: float | None = None
    trials: int | None = None
    counts: Mapping[str, int] | None = None

    @classmethod
    def of(cls, profile: Profile, lab: Lab, seconds: float | None = None, trials: int | None = None) -> Budget:
        """The profile's budget, unless a limit is given; UsageError if no lab can meet it."""
        if lab.deterministic and profile.name == KNOWN_BUGS:
            raise UsageError(
                f"profile {KNOWN_BUGS} is for {REAL_TIME_LABS}, not for {lab.name}; take another profile or lab"
            )
        if trials is not None or seconds is not None:
            return cls(profile.shares, seconds, trials)
        if profile.counts:
            if not lab.deterministic and sum(profile.counts.values()) > MANY:
                raise UsageError(
                    f"profile {profile.name} counts thousands of trials, and {lab.name} needs seconds for each; give a "
                    f"time limit or a limit of trials, or take profile {REAL}"
                )
            return cls(profile.shares, counts=profile.counts)
        return cls(profile.shares, profile.seconds)

    @property
    def words(self) -> str:
        """The limit that ends the searches."""
        known = {"the clock": self.seconds, "the number of trials": self.trials or self.counts}
        return " or ".join(words for words, bound in known.items() if bound is not None)

    @property
    def demanded(self) -> int | None:
        """Trials that the searches must play before the clock ends them; None if no number is given."""
        return self.trials if self.seconds is not None else None

    def of_searches(self, origins: Collection[str]) -> Budget:
        left = {origin: share for origin, share in self.shares.items() if origin in origins}
        return self._replace(shares=left)

    def allowance(self, origin: str, spent: int, clock: Callable[[], float]) -> Allowance:
        """The allowance of this search after earlier ones have played ``spent`` trials. ``clock`` predicts the end of a
        trial that begins now, in seconds since the run began.
        """
        if self.counts is not None:
            return Allowance(self.counts.get(origin, 0))
        later = list(self.shares.values())[list(self.shares).index(origin) :]
        share = self.shares[origin] / sum(later)
        if self.trials is not None:
            left = ceil(max(0, self.trials - spent) * share)
            # With both limits the clock is shared: each search has only its trials.
            return Allowance(left) if self.seconds is None else Allowance(left, self.seconds, clock)
        now = clock()
        return Allowance(ALL, now + max(0.0, (self.seconds or 0.0) - now) * share, clock)


class Allowance:
    """The allowance of one search. A search that is limited by time plays at least one trial."""

    def __init__(self, trials: int, until: float = inf, clock: Callable[[], float] = lambda: 0.0) -> None:
        self.trials = trials
        self.until = until
        self.begun = 0
        self._clock = clock

    def more(self) -> int:
        """How many trials may begin, as known now."""
        if self.begun and self._clock() >= self.until:
            return 0
        return self.trials - self.begun

    def begin(self, trials: int = 1) -> int:
        """How many of these trials may begin now; counts them."""
        may = min(trials, max(0, self.more()))
        self.begun += may
        return may

    def end(self) -> None:
        self.trials = min(self.trials, self.begun)
