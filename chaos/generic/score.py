"""What became of generic mutants, and what that says: the score with its interval, and which laws did the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...harness.exploration.ratio import share
from .sampling import Place

KILLED, CRASH, SURVIVED, NOT_REACHED, EQUIVALENT = "killed", "crash", "survived", "not reached", "equivalent"


class Result(NamedTuple):
    """What became of one mutant."""

    key: str
    """:attr:`pairproof.chaos.generic.sampling.Place.key`."""
    verdict: str
    """``killed`` by a law; ``crash``: only a crash or a loop was noticed; ``survived``; ``not reached``;
    ``equivalent``: listed as such, and not played."""
    law: str = ""
    """That was broken first, of those that are not about crashes."""
    also: tuple[str, ...] = ()
    """Others that the same trial violates."""
    origin: str = ""
    """The search whose trial it was."""
    trials: int = 0
    """Reaching trials played until then."""
    reaching: int = 0
    """Trials of the control that reach the place."""
    text: str = ""
    cpu_s: float = 0.0


Rows = Sequence[tuple[Place, Result]]


def summary(rows: Rows) -> dict[str, Any]:
    """The measurement in figures, as ``--json`` gives it."""
    counts = Counter(result.verdict for _, result in rows)
    of = len(rows) - counts[EQUIVALENT]
    reached = of - counts[NOT_REACHED]
    killed = counts[KILLED] + counts[CRASH]
    return {
        "score": share(killed, of),
        "by_law": share(counts[KILLED], of),
        "of_reached": share(killed, reached),
        "verdicts": dict(counts),
        "packages": by(rows, lambda place: place.package),
        "operators": by(rows, lambda place: place.operator),
        "laws": catchers(rows),
        "cpu_s": round(sum(result.cpu_s for _, result in rows), 1),
    }


def by(rows: Rows, key: Callable[[Place], str]) -> dict[str, dict[str, int]]:
    """How many mutants of each kind came to which verdict."""
    found: dict[str, Counter[str]] = {}
    for place, result in rows:
        found.setdefault(key(place), Counter())[result.verdict] += 1
    return {name: dict(found[name]) for name in sorted(found)}


def catchers(rows: Rows) -> dict[str, dict[str, int]]:
    """By law: how many mutants it broke first with (``first``), in whose last trial it was violated at all (``any``),
    and in whose last trial it alone was (``alone``)."""
    found: dict[str, Counter[str]] = {}
    for _, result in rows:
        broken = [each for each in (result.law, *result.also) if each] if result.verdict in (KILLED, CRASH) else []
        for law in broken:
            counts = found.setdefault(law, Counter(first=0, any=0, alone=0))
            counts.update(first=law == result.law, any=1, alone=len(broken) == 1)
    return {law: dict(found[law]) for law in sorted(found, key=lambda each: (-found[each]["any"], each))}
