"""How often laws judged and how often they abstained, by reason: a law that always abstains must not look like one that
holds.

Laws count both in their notes (:meth:`~harness.judging.law.Law.abstain`, :meth:`~harness.judging.law.Law.judge_part`),
which run folders keep for each trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .. import registry
from . import judge
from .law import ABSTAINED, JUDGED

MOST_PERCENT = 90
"""A law that abstains more often is named."""


class Offered(NamedTuple):
    """The events that one law could judge."""

    law: str
    judged: int
    abstained: Mapping[str, int]
    parts: Mapping[str, int]
    """The number of judgements by part, for a law with several parts."""

    @property
    def percent(self) -> int:
        without = sum(self.abstained.values())
        return 100 * without // (self.judged + without) if without else 0

    @property
    def reasons(self) -> str:
        return ", ".join(f"{reason} {number:,}" for reason, number in sorted(self.abstained.items()))


def offered(judged: Mapping[str, int], notes: Iterable[tuple[str, str, int]]) -> list[Offered]:
    """By law id: the events of laws that abstained or have several parts. ``notes``: law, note and amount."""
    abstained: dict[str, Counter[str]] = {}
    parts: dict[str, Counter[str]] = {}
    for law, note, amount in notes:
        for prefix, found in ((ABSTAINED, abstained), (JUDGED, parts)):
            if note.startswith(prefix):
                found.setdefault(law, Counter())[note.removeprefix(prefix)] += amount
    return [
        Offered(law, judged.get(law, 0), abstained.get(law, {}), parts.get(law, {}))
        for law in sorted({*abstained, *parts})
    ]


def lines(found: Sequence[Offered]) -> Iterator[str]:
    """The laws that abstained from nearly everything, and the parts that laws never judged, in words."""
    known = registry.names("laws")
    parts = {law.id: law.parts for law in judge.laws(each.law for each in found if each.law in known)}
    for each in found:
        if each.percent > MOST_PERCENT:
            yield f"{each.law} abstained from {each.percent} % of what it was offered: {each.reasons}"
        if each.judged and (missing := [name for name in parts.get(each.law, ()) if not each.parts.get(name)]):
            yield f"{each.law} judged no {', '.join(missing)}"
