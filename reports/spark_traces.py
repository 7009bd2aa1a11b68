"""Spark over the recorded histories: each part is measured and judged by a task, and what comes out is summed in SQL.

The tasks run :func:`pairproof.reports.traces.histories.batches`. Their rows stay in Spark, cached; only the spreads,
sums and short lists of :mod:`pairproof.reports.measures` come to the driver. On a cluster pairproof must be installed
where the executors run, and run folders must be readable there under the same paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pairproof.reports.inputs import RunInput
from pairproof.reports.measures import LISTS, MAX_LISTED, MEASURED, PERCENTILES, PLACE, SPREADS, Spread
from pairproof.reports.traces.bench import Bench, bench
from pairproof.reports.traces.deployment import Deployment
from pairproof.reports.traces.histories import History, Numbered, batches, numbered
from pairproof.reports.traces.measured import TABLES, columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SQL_TYPES: dict[type, str] = {str: "string", int: "bigint", bool: "boolean"}

TASKS_PER_CORE = 4
"""Parts differ in size: with several tasks for each core none waits long for the last one."""


def ddl() -> str:
    """The columns of what the tasks return."""
    plain = [f"{name} {SQL_TYPES[kind]}" for name, kind in columns(History)]
    nested = [
        f"{table} array<struct<{', '.join(f'{name}: {SQL_TYPES[kind]}' for name, kind in columns(of))}>>"
        for table, of in TABLES.items()
    ]
    return ", ".join([*plain, *nested])


def traces(spark: SparkSession, runs: Sequence[RunInput], judging: bool) -> DataFrame:
    """One row for each kept history of ``runs``, measured and, if ``judging``, judged again."""
    parts = numbered(runs)
    if not parts:
        return spark.createDataFrame([], ddl())
    listed = pa.table({name: [getattr(each, name) for each in parts] for name in Numbered._fields}, _LISTED)
    tasks = min(len(parts), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    return spark.createDataFrame(listed).repartition(tasks).mapInArrow(_work(runs, judging), ddl())


_LISTED = pa.schema([(name, pa.string()) for name in Numbered._fields])


def _work(runs: Iterable[RunInput], judging: bool) -> Any:
    benches: Mapping[str, Bench] = {run.run: bench(run) for run in runs}

    def work(listed: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in listed:
            yield from batches((Numbered(**row) for row in batch.to_pylist()), benches, judging)

    return work


def prepare(spark: SparkSession, runs: Sequence[RunInput], judging: bool) -> None:
    """Make the views that :func:`queries` reads: ``traces``, and one for each nested table. Needs ``facts``."""
    traces(spark, runs, judging).cache().createOrReplaceTempView("traces_alone")
    spark.sql("SELECT * FROM traces_alone JOIN facts USING (run)").createOrReplaceTempView("traces")
    beside = ", ".join(("run", "trial", *PLACE, *Deployment._fields))
    for table in TABLES:
        view = "differences_alone" if table in LISTS else table
        spark.sql(f"SELECT {beside}, inline({table}) FROM traces").createOrReplaceTempView(view)


def queries() -> dict[str, str]:
    """The SQL of every table that is made from histories, but the sums."""
    found = {name: spread(each) for name, each in SPREADS.items() if each.source != MEASURED}
    sources = {"problems": "traces WHERE problem IS NOT NULL", "differences": "differences_alone"}
    for name, listed in LISTS.items():
        told = ", ".join(listed)
        found[name] = f"SELECT {told} FROM {sources[name]} ORDER BY {told} LIMIT {MAX_LISTED}"
    return found


def spread(each: Spread) -> str:
    """The SQL of one spread."""
    keys = ", ".join(each.keys)
    told = ["CAST(count(DISTINCT run, trial) AS bigint) AS trials"]
    told += [f"CAST(coalesce(sum({name}), 0) AS bigint) AS {name}" for name in each.sums]
    if each.value:
        told += ["count(*) AS times", f"count(*) - count({each.value}) AS open"]
        told += [
            f"CAST(percentile_disc({share / 100}) WITHIN GROUP (ORDER BY {each.value}) AS bigint) AS {name}"
            for name, share in PERCENTILES.items()
        ]
    return f"SELECT {keys}, {', '.join(told)} FROM {each.source} GROUP BY {keys} ORDER BY {keys}"


def unreadable(spark: SparkSession) -> set[tuple[str, str]]:
    """The parts, by run and name, whose histories nobody can read to their end."""
    rows = spark.sql("SELECT DISTINCT run, part FROM traces_alone WHERE trial IS NULL").collect()
    return {(row["run"], row["part"]) for row in rows}
