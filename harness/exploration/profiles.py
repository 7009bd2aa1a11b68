"""Profiles: the seconds of a run and the searches' shares, or the trials of each search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..errors import UsageError
from ..renamed import given

QUICK = "quick"
CI = "ci"
REAL = "real"
REAL_TIME_LABS = "the process and docker labs"
"""The users' name for labs that are not deterministic."""
KNOWN_BUGS = "known-bugs"
PROOF = "proof"
"""The profile of the continuous-integration job that proves the product's claims on every commit."""
ALL = 10**9
"""Every schedule of an enumerated search."""


class Profile(NamedTuple):
    """``seconds`` limits the run, without its report; None if ``counts`` do."""

    name: str
    seconds: float | None
    shares: Mapping[str, float]
    """The share of each search in a limit of time or trials, in playing order; unused shares go to later searches
    (docs/decisions/0016).
    """
    keep_one_in: int
    """One in so many histories is kept, besides those of violating and unknown trials."""
    about: str
    counts: Mapping[str, int] = {}
    """Trials of each search, if the profile limits these. The searches must then give every law something to judge
    (docs/decisions/0034), unless it has coverage minimums.
    """
    has_minimums: bool = False
    """Whether the counted trials must meet the system's coverage minimums instead (docs/decisions/0037)."""


PROFILES: dict[str, Profile] = {
    each.name: each
    for each in (
        Profile(
            QUICK,
            30,
            {"moments": 0.05, "sweep": 0.15, "truncation": 0.05, "cluster": 0.5, "swarm": 0.2, "machine": 0.05},
            400,
            "a first verdict in seconds; mostly cluster trials, and samples of the other searches",
        ),
        Profile(
            CI,
            None,
            {"moments": 0.05, "sweep": 0.4, "truncation": 0.12, "cluster": 0.2, "swarm": 0.15, "machine": 0.08},
            2_000,
            "the whole sweep of single faults, every truncation point, and fixed numbers of the three others",
            {"moments": ALL, "sweep": ALL, "truncation": ALL, "cluster": 1_600, "swarm": 2_500, "machine": 500},
        ),
        Profile(
            "deep",
            1_200,
            {"moments": 0.02, "sweep": 0.11, "truncation": 0.04, "cluster": 0.45, "swarm": 0.28, "machine": 0.1},
            20_000,
            "all of the enumerated searches, then the three others for the rest of twenty minutes",
        ),
        Profile(
            "fault-pairs",
            1_200,
            {
                "moments": 0.02,
                "sweep": 0.11,
                "truncation": 0.04,
                "fault-pairs": 0.8,
                "cluster": 0.01,
                "swarm": 0.01,
                "machine": 0.01,
            },
            20_000,
            "the most trials for the time: all of the enumerated searches, then mostly fault pairs, which cost "
            "less than half of a swarm trial",
        ),
        Profile(
            REAL,
            600,
            {"sweep": 0.35, "known-bugs": 0.2, "swarm": 0.15, "cluster": 0.15, "machine": 0.15},
            10,
            "for real-time labs: every single fault, programs of known bugs, then the others in the remaining time; "
            "a law may have nothing to judge",
        ),
        Profile(
            KNOWN_BUGS,
            3_600,
            {"known-bugs": 1.0},
            10,
            "for real-time labs: only programs of known bugs, each once, within the hour",
        ),
        Profile(
            PROOF,
            None,
            {"machine": 1.0},
            1,
            "the Hypothesis state machine alone, a set number of trials in any lab, with minimums; keeps all histories",
            {"machine": 24},
            has_minimums=True,
        ),
    )
}


def default(deterministic: bool) -> str:
    """The name of the default profile of a lab."""
    return QUICK if deterministic else REAL


def profile(name: str) -> Profile:
    """A profile by name; UsageError that lists the valid ones."""
    found = PROFILES.get(given("profiles", name))
    if found is None:
        raise UsageError(f"unknown profile {name!r}; valid: {', '.join(PROFILES)}")
    return found
