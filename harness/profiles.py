"""How much a run does: shares of its time for each search, and which laws must have been exercised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pairproof.harness.errors import UsageError

QUICK = "quick"
REAL = "real"
"""The profile for labs that are not deterministic."""


class Profile(NamedTuple):
    """``seconds`` bounds the exploration (not the report)."""

    name: str
    seconds: float
    shares: Mapping[str, float]
    """What each search gets of the time, in the order in which they run; what one leaves over goes to the later ones.
    Why these: docs/decisions/0016."""
    keep_one_in: int
    """Histories kept besides those of violating and unknown trials: one in so many."""
    must_not_be_vacuous: bool
    about: str


PROFILES: dict[str, Profile] = {
    each.name: each
    for each in (
        Profile(
            QUICK,
            30,
            {"sweep": 0.3, "cuts": 0.17, "whole": 0.15, "swarm": 0.25, "machine": 0.13},
            400,
            True,
            "a first verdict in seconds; every cut point, most of the sweep, samples of the three others",
        ),
        Profile(
            "ci",
            150,
            {"sweep": 0.45, "cuts": 0.12, "whole": 0.2, "swarm": 0.15, "machine": 0.08},
            2_000,
            True,
            "the whole sweep of single faults, every cut point, and a minute of the three others",
        ),
        Profile(
            "deep",
            1_200,
            {"sweep": 0.13, "cuts": 0.04, "whole": 0.25, "swarm": 0.43, "machine": 0.15},
            20_000,
            True,
            "all of the enumerated searches, then the three others for what is left of twenty minutes",
        ),
        Profile(
            REAL,
            600,
            {"swarm": 0.45, "whole": 0.35, "machine": 0.2},
            10,
            False,
            "for labs where time is real: some dozens of trials, so a law may have had nothing to judge",
        ),
    )
}


def default(deterministic: bool) -> str:
    """The name of the profile for a lab that is deterministic, or is not."""
    return QUICK if deterministic else REAL


def profile(name: str) -> Profile:
    """A profile by name; UsageError that lists the valid ones."""
    found = PROFILES.get(name)
    if found is None:
        raise UsageError(f"unknown profile {name!r}; valid: {', '.join(PROFILES)}")
    return found
