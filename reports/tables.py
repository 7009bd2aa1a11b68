"""The Spark job: any number of run folders in, the report's small tables out, as Arrow tables.

Spark reads the Parquet parts and does every sum over trials, verdicts, faults and histories, which it measures and
judges again (:mod:`pairproof.reports.spark_traces`); only the report's own tables come back to the driver. The columns
of what it reads are those of :mod:`pairproof.harness.runs.schema`, what it counts is :mod:`pairproof.reports.measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa

from pairproof.harness.runs import schema
from pairproof.harness.verdict import CORPUS, Verdict
from pairproof.reports import spark_traces
from pairproof.reports.inputs import RunInput, columns
from pairproof.reports.measures import (
    BLIND,
    BY_SEARCH,
    CATCH_UP,
    FIRSTS,
    HISTORIES,
    KEPT,
    MEASURED,
    MEASURES,
    OBJECTIVES,
    SEARCHES,
    SPREADS,
    VERDICTS,
    Measure,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT_ONCE = 3
"""Spark jobs under way together: most of a small job is planning, which one core does while another computes."""

Said = Callable[[str], None]
Trials = Iterable[tuple[str, int]]

_ONES = ", ".join(f"if(verdict = '{each.value}', 1L, 0L) AS {column}" for each, column in VERDICTS.items())
_NAMED = ", ".join(f"'{name}', {name}" for name in OBJECTIVES)

VIEWS = {
    # The corpus is small: its trials are sent to the verdicts, which are many.
    "judged": f"SELECT /*+ BROADCAST(c) */ run, target, lab, law, coalesce(c.source, '{SEARCHES}') AS source, "
    f"1L AS trials, {_ONES}, if(judged > 0, 1L, 0L) AS exercised, judged, broken FROM verdicts JOIN facts USING (run) "
    f"LEFT JOIN (SELECT run, trial, origin AS source FROM trials WHERE origin = '{CORPUS}') c USING (run, trial)",
    "injected": "SELECT name, lab, 1L AS uses, if(bit > 0, 1L, 0L) AS bit, if(bit > 0, 0L, 1L) AS missed, "
    "coalesce(get_json_object(args, '$.node'), get_json_object(args, '$.link'), '') AS place "
    "FROM faults JOIN facts USING (run)",
    "effected": "SELECT name, lab, explode(from_json(effect, 'map<string,bigint>')) AS (effect, amount) "
    "FROM faults JOIN facts USING (run)",
    "noted": "SELECT law, target, lab, explode(from_json(notes, 'map<string,bigint>')) AS (note, amount) "
    "FROM verdicts JOIN facts USING (run) WHERE length(notes) > 2",
    "searched": "SELECT target, lab, origin, 1L AS trials, events, virtual_ns, CAST(kept AS bigint) AS kept "
    "FROM trials JOIN facts USING (run)",
    "unexecuted": "SELECT target, lab, explode(from_json(skipped, 'array<string>')) AS reason, 1L AS trials "
    "FROM trials JOIN facts USING (run) WHERE length(skipped) > 2",
    MEASURED: "SELECT * FROM (SELECT run, trial, target, lab, node, cause, fault, role, flush, "
    f"stack({len(OBJECTIVES)}, {_NAMED}) AS (what, amount) FROM objectives JOIN facts USING (run)) "
    f"WHERE (node = 'master') != (what = '{CATCH_UP}')",
}
"""The views that the measures sum, over the run folder's tables and ``facts`` (run, target, lab)."""


def ddl(table: str) -> str:
    """A run-folder table's columns as Spark reads them."""
    return ", ".join(f"{name} {spark_traces.SQL_TYPES[kind]}" for name, kind in columns(table))


def read(
    spark: SparkSession, runs: Sequence[RunInput], table: str, without: Container[tuple[str, str]] = ()
) -> DataFrame:
    """One table of all runs, ``without`` those parts (by run and name); no rows if none has a part of it."""
    parts = [str(part) for run in runs for part in run.parts[table] if (run.run, part.name) not in without]
    if not parts:
        return spark.createDataFrame([], ddl(table))
    return spark.read.schema(ddl(table)).parquet(*parts)


def measure(
    spark: SparkSession, runs: Sequence[RunInput], said: Said = lambda _: None, judging: bool = True
) -> dict[str, pa.Table]:
    """Every table of :mod:`pairproof.reports.measures`; each sorted by its keys.

    ``judging``: judge the recorded histories again, too.
    """
    for table in schema.TABLES:
        read(spark, runs, table).createOrReplaceTempView(table)
    facts = pa.table({name: [run.facts[name] for run in runs] for name in ("run", "target", "lab")})
    spark.createDataFrame(facts).createOrReplaceTempView("facts")
    for name, query in VIEWS.items():
        spark.sql(query).createOrReplaceTempView(name)
    for name in ("by_source", "by_run"):
        spark.sql(query_of(MEASURES[name])).cache().createOrReplaceTempView(name)
    spark_traces.prepare(spark, runs, judging)
    queries = {name: query_of(each) for name, each in MEASURES.items()} | {"firsts": _firsts()}
    queries |= {"objectives": spark_traces.spread(SPREADS["objectives"])} | spark_traces.queries()

    def answer(name: str) -> pa.Table:
        said(f"Spark: {name.replace('_', ' ')}")
        return spark.sql(queries[name]).toArrow()

    said("Spark: recorded histories")
    # First and alone: the others read what it leaves in the cache.
    histories = {"histories": spark.sql(query_of(HISTORIES)).toArrow()}
    with ThreadPoolExecutor(AT_ONCE) as jobs:
        return histories | dict(zip(queries, jobs.map(answer, queries), strict=True))


def query_of(each: Measure) -> str:
    """The SQL of one measure."""
    keys = ", ".join(each.keys)
    sums = ", ".join(f"CAST(coalesce(sum({name}), 0) AS bigint) AS {name}" for name in each.sums)
    return f"SELECT {keys}, {sums} FROM {each.source} GROUP BY {keys} ORDER BY {keys}"


def _firsts() -> str:
    picked = ", ".join(f"min_by({name}, trial) AS {name}" for name in FIRSTS[3:])
    return (
        f"SELECT run, law, verdict, {picked} FROM verdicts WHERE verdict IN ('violated', 'unknown') "
        "GROUP BY run, law, verdict ORDER BY run, law, verdict"
    )


def kept(spark: SparkSession, at_most: int) -> pa.Table:
    """The first trials whose histories were kept; needs the views that :func:`measure` made."""
    columns = ", ".join(KEPT)
    return spark.sql(f"SELECT {columns} FROM trials WHERE kept ORDER BY run, trial LIMIT {at_most}").toArrow()


def by_search(spark: SparkSession) -> pa.Table:
    """What :data:`~pairproof.reports.measures.BY_SEARCH` says; needs the views that :func:`measure` made."""
    keys = ", ".join(BY_SEARCH[0])
    blind = ", ".join(f"'{each}'" for each in BLIND)
    return spark.sql(
        f"SELECT {keys}, count(*) AS trials, count_if(verdict = '{Verdict.VIOLATED.value}') AS violated "
        f"FROM verdicts JOIN trials USING (run, trial) WHERE verdict NOT IN ({blind}) GROUP BY {keys} ORDER BY {keys}"
    ).toArrow()


def timelines(spark: SparkSession, runs: Sequence[RunInput], wanted: Trials, at_most: int) -> pa.Table:
    """The first ``at_most`` events of the ``wanted`` trials, as far as their parts can be read."""
    read(spark, runs, "history", spark_traces.unreadable(spark)).createOrReplaceTempView("history")
    return of_trials(spark, "history", wanted, at_most)


def of_trials(spark: SparkSession, table: str, wanted: Trials, at_most: int | None = None) -> pa.Table:
    """The rows of a run-folder table that belong to the ``wanted`` trials, in the order of run, trial and ``seq``.

    ``at_most``: only events with a ``seq`` below it. Needs the views that :func:`measure` made.
    """
    pairs = sorted(set(wanted))
    if not pairs:
        return spark.createDataFrame([], ddl(table)).toArrow()
    chosen = pa.table({"run": [run for run, _ in pairs], "trial": pa.array([trial for _, trial in pairs], pa.int64())})
    # The plain list of numbers lets Parquet skip row groups; the join then tells runs apart.
    rows = spark.table(table).where(f"trial IN ({', '.join(str(trial) for _, trial in pairs)})")
    if at_most is not None:
        rows = rows.where(f"seq < {at_most}")
    found = rows.join(spark.createDataFrame(chosen).hint("broadcast"), ["run", "trial"], "left_semi")
    keys = [name for name in ("run", "trial", "seq") if name in found.columns]
    return found.orderBy(*keys).toArrow()
