"""The histories that a run keeps: those of violating and unknown trials, and one in N of the others.

The sample depends only on the run's seed and the trial's position in its search (without a search: its number). So the
same run keeps the same histories every time, and an interrupted run keeps a part of them.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from ..errors import UsageError
from ..judging.verdict import Verdict
from ..trials.trial import Trial

ALL = "all"
WORTH_KEEPING = frozenset((Verdict.VIOLATED, Verdict.UNKNOWN))


class Sampling(NamedTuple):
    """``one_in`` = 1 keeps everything."""

    seed: str
    one_in: int

    def wants(self, trial: Trial, position: object) -> bool:
        return self.drawn(position) or not WORTH_KEEPING.isdisjoint([each.verdict for each in trial.judgements])

    def drawn(self, position: object) -> bool:
        """Whether the trial at this position is in the sample, for any verdict."""
        if self.one_in == 1:
            return True
        hashed = blake2b(f"{self.seed}/{position}".encode(), digest_size=8).digest()
        return int.from_bytes(hashed, "big") % self.one_in == 0


def sampling(keep: object, seed: str) -> Sampling:
    """From the fact ``keep``: ``all``, or N (a number or its digits) for one in N; UsageError otherwise."""
    if keep == ALL:
        return Sampling(seed, 1)
    if isinstance(keep, str) and keep.isdecimal():
        keep = int(keep)
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
        raise UsageError(f"keep is {keep!r}; valid: {ALL}, or a whole number N >= 1 for one history in N")
    return Sampling(seed, keep)
