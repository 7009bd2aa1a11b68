"""Judges recorded histories again, in Spark, with the very judge that runs in process.

History rows are shuffled by (run, trial) and sorted by ``seq``; each partition then streams through
``mapInArrow``, so a law sees its trial's events in the order in which they were recorded, and a trial may span
batches. Memory: one batch and one trial's judge for each task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairproof.harness.history import KINDS
from pairproof.harness.judge import Judge, laws
from pairproof.harness.runs.tables import SCHEMAS
from pairproof.harness.verdict import Judgement
from pairproof.reports.events import events_of
from pairproof.reports.inputs import RunInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_DIFFERENCES = 100
"""Differences that a comparison names; the rest are counted only."""

COMPARED = ("verdict", "judged", "broken", "seq")
"""What must be the same when a history is judged again by the same version. Sentences may be reworded."""


class Bench(NamedTuple):
    """Who judges a run: ids of its laws, and the kinds of event that its lab could record."""

    laws: tuple[str, ...]
    observes: frozenset[str]

    def judge(self) -> Judge:
        """A judge for one trial."""
        return Judge(laws(self.laws), self.observes)


def bench(run: RunInput) -> Bench:
    """Who judged this run, by its facts."""
    return Bench(tuple(run.facts.get("laws") or ()), frozenset(run.facts.get("observes") or KINDS))


def judge_batches(batches: Iterable[pa.RecordBatch], benches: Mapping[str, Bench]) -> Iterator[pa.RecordBatch]:
    """Verdict rows of every trial in ``batches`` of history rows, which come in the order of run, trial and seq.

    ``benches``: by run id. One batch of verdicts for each batch of events that ended a trial.
    """
    current: tuple[str, int] | None = None
    judging: Judge | None = None
    for batch in batches:
        rows: list[dict[str, Any]] = []
        events = events_of(batch)
        for key, count in trials_of(batch):
            if key != current:
                if judging is not None and current is not None:
                    rows += verdict_rows(current, judging.finish())
                current, judging = key, benches[key[0]].judge()
            assert judging is not None
            judging.feed_all(islice(events, count))
        if rows:
            yield _batch(rows)
    if judging is not None and current is not None:
        yield _batch(verdict_rows(current, judging.finish()))


def trials_of(batch: pa.RecordBatch) -> list[tuple[tuple[str, int], int]]:
    """The trials of a sorted batch in order, each with its number of events."""
    if batch.num_rows == 0:
        return []
    runs, trials = batch.column("run"), batch.column("trial").to_numpy()
    codes = pc.dictionary_encode(runs).indices.to_numpy()
    starts = np.flatnonzero((np.diff(trials) != 0) | (np.diff(codes) != 0)) + 1
    edges = [0, *starts.tolist(), batch.num_rows]
    return [((runs[lo].as_py(), int(trials[lo])), hi - lo) for lo, hi in pairwise(edges)]


def verdict_rows(key: tuple[str, int], judgements: Iterable[Judgement]) -> list[dict[str, Any]]:
    """A trial's judgements as rows of the run folder's table of verdicts."""
    rows = []
    for each in judgements:
        first = each.violations[0] if each.violations else None
        row = {"run": key[0], "trial": key[1], "law": each.law, "verdict": each.verdict.value, "judged": each.judged}
        row |= {"broken": each.broken, "seq": first.seq if first else None, "text": first.text if first else each.doubt}
        row["notes"] = json.dumps(each.notes)
        rows.append(row)
    return rows


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMAS["verdicts"])


def judge(history: DataFrame, benches: Mapping[str, Bench], partitions: int | None = None) -> DataFrame:
    """Verdict rows (a DataFrame with the columns of table ``verdicts``) of a DataFrame of history rows.

    ``partitions``: how many tasks share the trials; Spark's own setting if not given. On a cluster pairproof must be
    installed where the executors run: laws travel by name.
    """
    from pairproof.reports.tables import ddl

    keyed = (
        history.repartition("run", "trial") if partitions is None else history.repartition(partitions, "run", "trial")
    )
    ordered = keyed.sortWithinPartitions("run", "trial", "seq")

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return judge_batches(batches, benches)

    return ordered.mapInArrow(work, ddl("verdicts"))


def compare(spark: SparkSession, runs: Sequence[RunInput]) -> dict[str, Any]:
    """Judge every kept history of ``runs`` again and compare with the verdicts that the runs stored.

    Returns ``trials`` and ``verdicts`` (how many were compared), ``different`` (how many differ) and ``differences``
    (the first of them: run, trial, law, stored, again).
    """
    from pairproof.reports.tables import read

    benches = {run.run: bench(run) for run in runs}
    again = judge(read(spark, runs, "history"), benches).cache()
    again.createOrReplaceTempView("again")
    read(spark, runs, "verdicts").createOrReplaceTempView("stored")
    counted = spark.sql("SELECT count(*) AS verdicts, count(DISTINCT run, trial) AS trials FROM again").first()
    assert counted is not None
    unlike = " OR ".join(f"NOT (s.{name} <=> a.{name})" for name in COMPARED)
    query = (
        "SELECT run, trial, law, s.verdict AS stored, a.verdict AS again, "
        "s.judged AS stored_judged, a.judged AS again_judged "
        "FROM (SELECT * FROM stored LEFT SEMI JOIN again USING (run, trial)) s "
        f"FULL JOIN again a USING (run, trial, law) WHERE {unlike}"
    )
    differences = spark.sql(query)
    named = differences.orderBy("run", "trial", "law").limit(MAX_DIFFERENCES).toArrow().to_pylist()
    different = len(named) if len(named) < MAX_DIFFERENCES else differences.count()
    again.unpersist()
    return {
        "trials": counted["trials"],
        "verdicts": counted["verdicts"],
        "different": different,
        "differences": named,
    }
