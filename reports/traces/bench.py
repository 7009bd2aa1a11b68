"""Who judges a run's histories again: the very judge that runs in process, with the laws that the run names."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...harness import registry
from ...harness.history import Event, kinds
from ...harness.judging import deviations
from ...harness.judging.judge import judge, laws
from ...harness.judging.verdict import Judgement
from ..inputs import RunInput


class Bench(NamedTuple):
    """Laws travel by name, since Spark's workers are other processes."""

    laws: tuple[str, ...]
    observes: frozenset[str]
    """The kinds of event that the run's lab could record."""
    absent: frozenset[str] = frozenset()
    """Laws that judged the run and are not installed here."""
    by_scenario: bool = False
    """Whether each trial was judged by those of the laws only that its scenario names."""

    target: str = ""
    """Of which deviations may be known."""

    def judge_all(self, events: Sequence[Event]) -> list[Judgement]:
        judgements = judge(events, laws(self.laws), self.observes)
        return deviations.sorted_out(judgements, events, deviations.of_named(self.target))


def bench(run: RunInput) -> Bench:
    """Who judged this run, by its facts."""
    named, known = _texts(run.facts.get("laws")), set(registry.names("laws"))
    observes = frozenset(_texts(run.facts.get("observes"))) or frozenset(kinds())
    here = tuple(each for each in named if each in known)
    return Bench(here, observes, frozenset(named) - known, bool(run.facts.get("scenarios")), str(run.facts["target"]))


def _texts(fact: object) -> tuple[str, ...]:
    return tuple(str(each) for each in fact) if isinstance(fact, list) else ()


def trials_of(batch: pa.RecordBatch) -> list[tuple[tuple[str, int], int]]:
    """The trials of a batch of history rows in order, each with its number of events."""
    if batch.num_rows == 0:
        return []
    runs, trials = batch.column("run"), batch.column("trial").to_numpy()
    codes = pc.dictionary_encode(runs).indices.to_numpy()
    starts = np.flatnonzero((np.diff(trials) != 0) | (np.diff(codes) != 0)) + 1
    edges = [0, *starts.tolist(), batch.num_rows]
    return [((runs[lo].as_py(), int(trials[lo])), hi - lo) for lo, hi in pairwise(edges)]


def verdict_rows(judgements: Iterable[Judgement]) -> list[dict[str, Any]]:
    """A trial's judgements with those columns of the run folder's table of verdicts that are compared."""
    rows = []
    for each in judgements:
        first = each.violations[0] if each.violations else None
        row: dict[str, Any] = {"law": each.law, "verdict": each.verdict.value}
        rows.append(row | {"judged": each.judged, "broken": each.broken, "seq": first.seq if first else None})
    return rows
