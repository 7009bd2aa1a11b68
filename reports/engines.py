"""Where a report is counted: in Spark's tasks, or in this process. The tables are the same, and so are the pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa

from pairproof.reports import counting, java
from pairproof.reports.counting import Tables
from pairproof.reports.errors import NoJava
from pairproof.reports.inputs import RunInput
from pairproof.reports.measures import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 4
"""Pieces differ in size: with several tasks for each core none waits long for the last one."""

Said = Callable[[str], None]


def count(
    engine: str, master: str | None, runs: Sequence[RunInput], judging: bool, said: Said = lambda _: None
) -> tuple[Tables, str]:
    """What :func:`pairproof.reports.counting.told` says, counted by this engine; and why it was not Spark, if it was to
    be: there is no Java. ``judging``: recorded histories are judged again. ``master``: a cluster's, or None."""
    if engine != SPARK:
        said("counting")
        return counting.measure(runs, judging), ""
    try:
        java.find()
    except NoJava as why:
        said("counting without Spark")
        return counting.measure(runs, judging), f"counted without Spark: {why}"
    # Imported only where it is used.
    from pairproof.reports.session import carry_code, session

    said("starting Spark")
    size = sum(run.size_bytes for run in runs)
    with TemporaryDirectory(prefix="pairproof-code-") as folder, session(master, size) as spark:
        if master is not None:
            carry_code(spark, Path(folder))
        said("Spark: counting")
        return on_spark(spark, runs, judging), ""


def on_spark(spark: SparkSession, runs: Sequence[RunInput], judging: bool) -> Tables:
    """The same by a session that is there: one job, whose tasks count some pieces each."""
    listed = list(counting.pieces(runs))
    tasks = min(len(listed), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    if not tasks:
        return counting.told(())
    groups = [(listed[number::tasks], judging) for number in range(tasks)]
    answers = spark.sparkContext.parallelize(groups, tasks).map(_counted).collect()
    return counting.told({name: _read(each) for name, each in answer.items()} for answer in answers)


def _counted(task: tuple[list[RunInput], bool]) -> dict[str, bytes]:
    listed, judging = task
    found = counting.merged(counting.counted(each, judging) for each in listed)
    return {name: _written(each) for name, each in found.items()}


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _read(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
