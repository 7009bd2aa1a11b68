"""Judges the recorded histories of a run folder again, with the present laws.

A run records the histories of its violating and unknown trials and a sample of the others; the results cover only
these. Laws that the run's lab could not observe are not observable here either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..harness.history import kinds
from ..harness.judging import deviations
from ..harness.judging.judge import judge
from ..harness.judging.law import MAX_VIOLATIONS, Law
from ..harness.judging.verdict import Verdict, over_trials
from ..harness.runs.reader import RunReader


class JudgedRun(NamedTuple):
    """``texts``: (trial, law, violation or doubt), the first few of each law."""

    run: str
    trials: int
    events: int
    verdicts: dict[str, Verdict]
    judged: Counter[str]
    broken: Counter[str]
    texts: list[tuple[int, str, str]]
    deviations: list[dict[str, Any]]

    def rows(self) -> list[tuple[str, str, int, int]]:
        """Law, verdict, judgements, violations."""
        return [(law, str(each), self.judged[law], self.broken[law]) for law, each in self.verdicts.items()]

    def to_json(self) -> dict[str, object]:
        columns = ("law", "verdict", "judged", "broken")
        return {
            "run": self.run,
            "trials": self.trials,
            "events": self.events,
            "laws": [dict(zip(columns, each, strict=True)) for each in self.rows()],
            "violations": [dict(zip(("trial", "law", "text"), each, strict=True)) for each in self.texts],
            "deviations": self.deviations,
        }


def judge_run(reader: RunReader, laws: Iterable[type[Law]]) -> JudgedRun:
    """Judge every recorded history; CorruptRun for an unreadable folder."""
    chosen = tuple(laws)
    observes = frozenset(reader.facts.get("observes", kinds()))
    seen: dict[str, list[Verdict]] = {law.id: [] for law in chosen}
    judged: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    told: Counter[str] = Counter()
    texts: list[tuple[int, str, str]] = []
    known, met = deviations.of_named(str(reader.facts.get("target", ""))), deviations.Seen()
    trials = events = 0
    for trial, history in reader.histories():
        trials += 1
        events += len(history)
        judgements = deviations.sorted_out(judge(history, chosen, observes), history, known)
        met.add(judgements)
        for each in judgements:
            seen[each.law].append(each.verdict)
            judged[each.law] += each.judged
            broken[each.law] += each.broken
            said = [one.text for one in each.violations] or ([each.doubt] if each.doubt else [])
            for text in said[: MAX_VIOLATIONS - told[each.law]]:
                texts.append((trial, each.law, text))
                told[each.law] += 1
    verdicts = {law: over_trials(found) for law, found in seen.items()}
    return JudgedRun(reader.run, trials, events, verdicts, judged, broken, texts, met.rows())
