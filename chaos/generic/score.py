"""Results of generic mutants: the score with its interval, and the laws that killed them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any, NamedTuple

from ...harness.exploration.ratio import NORMAL_95, share
from .sampling import Place

KILLED, CRASH, SURVIVED, NOT_REACHED, EQUIVALENT = "killed", "crash", "survived", "not reached", "equivalent"


class Result(NamedTuple):
    key: str
    """:attr:`pairproof.chaos.generic.sampling.Place.key`."""
    verdict: str
    """``killed`` by a law; ``crash``: only a crash or a loop was noticed; ``survived``; ``not reached``;
    ``equivalent``: listed as such, and not played.
    """
    law: str = ""
    """The first violated law, other than about crashes."""
    also: tuple[str, ...] = ()
    """Others that the same trial violates."""
    origin: str = ""
    trials: int = 0
    """Reaching trials until the result."""
    differing: int = 0
    """Those of them whose history is not the control's."""
    reaching: int = 0
    """Trials of the control that reach the site."""
    text: str = ""
    cpu_s: float = 0.0


Rows = Sequence[tuple[Place, Result]]


def summary(rows: Rows) -> dict[str, Any]:
    """The measurement's numbers, as in ``--json``."""
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


def expected(rows: Rows, deeper: Mapping[str, Result], noticed: Sequence[str] = (KILLED, CRASH)) -> dict[str, float]:
    """The share of mutants, in percent, that the second stage's number of trials would notice, with a 95 % interval.

    Two-phase sampling: ``p`` of the sample are noticed in the first stage, and ``q`` of its survivors later, which the
    tenth that played on estimates. The interval is the delta method's; two hits and two misses are added for the
    variance of ``q``, which few mutants decide.
    """
    left = [result for _, result in rows if result.verdict != EQUIVALENT]
    first = sum(each.verdict in noticed for each in left)
    played = [deeper[each.key] for each in left if each.verdict not in noticed and each.key in deeper]
    later = sum(each.verdict in noticed for each in played)
    if not left or not played:
        return share(first, len(left))
    p, q, smooth = first / len(left), later / len(played), (later + 2) / (len(played) + 4)
    variance = (1 - q) ** 2 * p * (1 - p) / len(left) + (1 - p) ** 2 * smooth * (1 - smooth) / (len(played) + 4)
    percent, wide = 100 * (p + (1 - p) * q), 100 * NORMAL_95 * sqrt(variance)
    low, high = max(0.0, percent - wide), min(100.0, percent + wide)
    return {"played_on": len(played), "later": later, "percent": round(percent, 1), "low": round(low, 1),
            "high": round(high, 1)}  # fmt: skip


def by(rows: Rows, key: Callable[[Place], str]) -> dict[str, dict[str, int]]:
    """Number of mutants by group and verdict."""
    found: dict[str, Counter[str]] = {}
    for place, result in rows:
        found.setdefault(key(place), Counter())[result.verdict] += 1
    return {name: dict(found[name]) for name in sorted(found)}


def catchers(rows: Rows) -> dict[str, dict[str, int]]:
    """By law: mutants that it killed first (``first``), that violated it in their last trial (``any``), or that
    violated it alone (``alone``).
    """
    found: dict[str, Counter[str]] = {}
    for _, result in rows:
        broken = [each for each in (result.law, *result.also) if each] if result.verdict in (KILLED, CRASH) else []
        for law in broken:
            counts = found.setdefault(law, Counter(first=0, any=0, alone=0))
            counts.update(first=law == result.law, any=1, alone=len(broken) == 1)
    return {law: dict(found[law]) for law in sorted(found, key=lambda each: (-found[each]["any"], each))}
