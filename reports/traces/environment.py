"""Rejudging a run's histories: the in-process judge, with the run's laws."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...harness import registry
from ...harness.history import Event, kinds
from ...harness.judging import deviations
from ...harness.judging.judge import judge, laws
from ...harness.judging.verdict import Judgement
from ..inputs import RunInput


class Bench(NamedTuple):
    """The environment of a judge. Laws travel by name, since Spark's workers are other processes."""

    laws: tuple[str, ...]
    observes: frozenset[str]
    """Event types that the run's lab could record."""
    absent: frozenset[str] = frozenset()
    """Laws that judged the run and are not installed here."""
    by_scenario: bool = False
    """Whether each trial was judged only by its scenario's laws."""

    target: str = ""

    def judge_all(self, events: Sequence[Event]) -> list[Judgement]:
        judgements = judge(events, laws(self.laws), self.observes)
        return deviations.sorted_out(judgements, events, deviations.of_named(self.target))


def bench(run: RunInput) -> Bench:
    """The judge's environment of this run, from its facts."""
    named, known = _texts(run.facts.get("laws")), set(registry.names("laws"))
    observes = frozenset(_texts(run.facts.get("observes"))) or frozenset(kinds())
    here = tuple(each for each in named if each in known)
    return Bench(here, observes, frozenset(named) - known, bool(run.facts.get("scenarios")), str(run.facts["target"]))


def _texts(fact: object) -> tuple[str, ...]:
    return tuple(str(each) for each in fact) if isinstance(fact, list) else ()


def verdict_rows(judgements: Iterable[Judgement]) -> list[dict[str, Any]]:
    """A trial's judgements with the compared columns of the run folder's table of verdicts."""
    rows = []
    for each in judgements:
        first = each.violations[0] if each.violations else None
        row: dict[str, Any] = {"law": each.law, "verdict": each.verdict.value}
        rows.append(row | {"judged": each.judged, "broken": each.broken, "seq": first.seq if first else None})
    return rows
