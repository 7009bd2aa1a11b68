"""How much of a target a run examined: reported beside its verdict on the terminal, in pages, summaries and JSON.

Fewer than :data:`FEW` trials hardly show a rare fault: such a run is amber, not green, even if every law holds. Only
trials of the searches count: those of the fixed corpus are the same in every run, and shrinking repeats what was found.
A run of scenarios is exempt, since each scenario says what it plays.

Leaves out: the exit code, which follows the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..judging.verdict import CORPUS, Verdict
from ..texts.wording import counted

FEW = 20
"""Trials of a run, or trials that gave a law something to judge: fewer are little evidence."""
MAX_NAMED = 5
"""Runs that a headline names."""

SHRINK = "shrink"
"""The origin of trials that make a program smaller."""


class Evidence(NamedTuple):
    """What the verdict of one run rests on."""

    trials: int | None
    """Trials of the searches; None in a run of scenarios."""
    corpus_trials: int
    not_played: tuple[str, ...]
    """Faults that the searches may draw, and that never began; none where the run does not say what they may draw."""
    without_effect: tuple[str, ...]
    """Faults that began, and never took effect."""

    @property
    def is_little(self) -> bool:
        return self.trials is not None and self.trials < FEW

    @property
    def untried(self) -> str:
        """``not played: power_loss, wipe; without effect: stall``; empty if nothing is missing."""
        said = {"not played": self.not_played, "without effect": self.without_effect}
        return "; ".join(f"{what}: {', '.join(faults)}" for what, faults in said.items() if faults)

    def to_json(self) -> dict[str, object]:
        return {**self._asdict(), "little": self.is_little}


class Headline(NamedTuple):
    """The first sentences about some runs. ``amber``: nothing is wrong, and too little was tried to call it green."""

    text: str
    amber: bool


def of(facts: Mapping[str, object], by_origin: Mapping[str, int], faults: Mapping[str, int]) -> Evidence:
    """Of one run. ``by_origin``: trials. ``faults``: by name of each that began, how often it took effect."""
    if facts.get("scenarios") is not None:
        return Evidence(None, 0, (), ())
    told = facts.get("drawn")
    drawn = sorted(map(str, told)) if isinstance(told, list) else []
    return Evidence(
        sum(number for origin, number in by_origin.items() if origin not in (CORPUS, SHRINK)),
        by_origin.get(CORPUS, 0),
        tuple(each for each in drawn if each not in faults),
        tuple(sorted(name for name, took_effect in faults.items() if not took_effect)),
    )


def headline(said: str, verdict: str, found: Mapping[str, Evidence]) -> Headline:
    """``said``, after how few trials there were. ``found``: by run. What is violated needs no more evidence."""
    little = {run: each for run, each in found.items() if each.is_little}
    if not little or verdict not in (Verdict.HOLDS, Verdict.UNKNOWN, Verdict.DEVIATES):
        return Headline(said, False)
    told = [_trials(each, f" in {run}" if len(found) > 1 else "") for run, each in little.items()]
    more = [f"and {len(told) - MAX_NAMED} more"] if len(told) > MAX_NAMED else []
    return Headline(f"{'; '.join(told[:MAX_NAMED] + more)}. {said}", verdict == Verdict.HOLDS)


def _trials(found: Evidence, where: str) -> str:
    number = found.trials or 0
    beside = f", beside {found.corpus_trials:,} of the fixed corpus" if found.corpus_trials else ""
    return f"{counted(number, 'trial')} only{where}{beside}"
