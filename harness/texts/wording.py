"""Words that the terminal and the pages share: a number with its noun, and the name of each search.

Files and JSON keep the searches' ids instead.
"""

from __future__ import annotations

SEARCHES = {
    "corpus": "fixed corpus",
    "losses": "corpus of losses",
    "sweep": "single faults",
    "known-bugs": "programs of known bugs",
    "moments": "single faults at moments",
    "truncation": "truncation points",
    "cluster": "cluster trials",
    "fault-pairs": "fault pairs",
    "swarm": "seeded swarm",
    "machine": "Hypothesis state machine",
    "shrink": "shrinking",
}


def search(origin: str) -> str:
    """The name of a search; the id of a third party's search, or of a scenario."""
    return SEARCHES.get(origin, origin)


def counted(number: int, noun: str) -> str:
    """``1 trial``, ``2,000 trials``; for nouns that take an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
