"""The extent of a run's search, reported beside its verdict on the terminal, in pages, summaries and JSON.

Fewer than :data:`FEW` trials hardly show a rare fault: such a run is amber, not green, even if every law holds. Only
trials of the searches count: the fixed corpus is the same in every run, and shrinking repeats known violations. A run
of scenarios is exempt, since its programs are given. The exit code follows the verdict alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..judging.verdict import CORPUS, Verdict
from ..texts.wording import counted

FEW = 20
"""The least number of trials of a run, or of trials that a law judged, that counts as evidence."""
MAX_NAMED = 5

SHRINK = "shrink"
"""The origin of trials that shrink a program."""


class Evidence(NamedTuple):
    trials: int | None
    """Trials of the searches; None in a run of scenarios."""
    corpus_trials: int
    not_played: tuple[str, ...]
    """Faults that the searches may draw but that never began; empty if the run does not list its faults."""
    without_effect: tuple[str, ...]
    """Faults that began but never took effect."""

    @property
    def is_little(self) -> bool:
        return self.trials is not None and self.trials < FEW

    @property
    def untried(self) -> str:
        """``not played: power_loss, wipe; without effect: stall``; empty if nothing is missing."""
        parts = {"not played": self.not_played, "without effect": self.without_effect}
        return "; ".join(f"{what}: {', '.join(faults)}" for what, faults in parts.items() if faults)

    def to_json(self) -> dict[str, object]:
        return {**self._asdict(), "little": self.is_little}


class Headline(NamedTuple):
    """The first sentences about some runs. ``amber``: no violation, but too few trials for green."""

    text: str
    amber: bool


def of(facts: Mapping[str, object], by_origin: Mapping[str, int], faults: Mapping[str, int]) -> Evidence:
    """The evidence of one run. ``by_origin``: trials. ``faults``: how often each fault that began took effect."""
    if facts.get("scenarios") is not None:
        return Evidence(None, 0, (), ())
    listed = facts.get("drawn")
    drawn = sorted(map(str, listed)) if isinstance(listed, list) else []
    return Evidence(
        sum(number for origin, number in by_origin.items() if origin not in (CORPUS, SHRINK)),
        by_origin.get(CORPUS, 0),
        tuple(each for each in drawn if each not in faults),
        tuple(sorted(name for name, took_effect in faults.items() if not took_effect)),
    )


def headline(text: str, verdict: str, found: Mapping[str, Evidence]) -> Headline:
    """``text``, preceded by the number of trials if it is too small. ``found``: by run. A violation needs no
    evidence.
    """
    little = {run: each for run, each in found.items() if each.is_little}
    if not little or verdict not in (Verdict.HOLDS, Verdict.UNKNOWN, Verdict.DEVIATES):
        return Headline(text, False)
    counts = [_trials(each, f" in {run}" if len(found) > 1 else "") for run, each in little.items()]
    more = [f"and {len(counts) - MAX_NAMED} more"] if len(counts) > MAX_NAMED else []
    return Headline(f"{'; '.join(counts[:MAX_NAMED] + more)}. {text}", verdict == Verdict.HOLDS)


def _trials(found: Evidence, where: str) -> str:
    number = found.trials or 0
    beside = f", beside {found.corpus_trials:,} of the fixed corpus" if found.corpus_trials else ""
    return f"{counted(number, 'trial')} only{where}{beside}"
