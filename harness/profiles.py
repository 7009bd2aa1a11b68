"""How much a run does: shares of its time for each search, and which laws must have been exercised."""

from __future__ import annotations

from typing import NamedTuple

from pairproof.harness.errors import UsageError


class Profile(NamedTuple):
    """``seconds`` bounds the exploration (not the report); shares are of those seconds."""

    name: str
    seconds: float
    sweep: float
    swarm: float
    machine: float
    keep_one_in: int
    """Histories kept besides those of violating and unknown trials: one in so many."""
    must_not_be_vacuous: bool
    about: str


PROFILES: dict[str, Profile] = {
    each.name: each
    for each in (
        Profile(
            "quick",
            30,
            0.5,
            0.25,
            0.25,
            400,
            True,
            "a first verdict in seconds; most of the sweep, samples of the two others",
        ),
        Profile("ci", 150, 0.6, 0.2, 0.2, 2_000, True, "the whole single-fault sweep, and minutes of the two others"),
    )
}


def profile(name: str) -> Profile:
    """A profile by name; UsageError that lists the valid ones."""
    found = PROFILES.get(name)
    if found is None:
        raise UsageError(f"unknown profile {name!r}; valid: {', '.join(PROFILES)}")
    return found
