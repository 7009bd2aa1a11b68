"""Engines that count a report: Spark's tasks, or this process, with the same tables and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ..harness.errors import CorruptRun
from ..harness.texts import extras
from . import counting, java
from .counting import Tables
from .errors import NoJava
from .inputs import Corrupt, RunInput, left_out, unreadable
from .measures import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 4
"""Pieces differ in size: several tasks per core balance them."""

OnStep = Callable[[str], None]
Answer = tuple[Tables, dict[str, str]]
"""The counts of some pieces, and the reason for each run with an unreadable part."""
Count = Callable[[Sequence[RunInput]], Iterable[Answer]]


class Counted(NamedTuple):
    """The tables of :func:`pairproof.reports.counting.completed` for the readable runs, and the other runs."""

    tables: Tables
    runs: list[RunInput]
    corrupt: list[Corrupt]
    without_spark: str = ""
    """Why Spark did not count although requested: it is not installed, or there is no Java."""


def count(
    engine: str, master: str | None, runs: Sequence[RunInput], judging: bool, on_step: OnStep = lambda _: None
) -> Counted:
    """Count with this engine. ``judging``: rejudge recorded histories. ``master``: a cluster's, or None."""
    without_spark = ""
    if engine == SPARK:
        try:
            extras.check("pyspark")
            java.find()
        except (extras.Lacking, NoJava) as why:
            without_spark = f"counted without Spark: {why}"
    if engine != SPARK or without_spark:
        on_step("counting without Spark" if without_spark else "counting")
        return here(runs, judging)._replace(without_spark=without_spark)
    # Imported only where it is used.
    from .session import carry_code, session

    on_step("starting Spark")
    rows = sum(run.rows for run in runs)
    with TemporaryDirectory(prefix="pairproof-code-") as folder, session(master, rows) as spark:
        if master is not None:
            carry_code(spark, Path(folder))
        on_step("Spark: counting")
        return on_spark(spark, runs, judging)


def here(runs: Sequence[RunInput], judging: bool = True) -> Counted:
    """Count in this process, one piece after the other."""
    return _whole(runs, lambda some: (_piece(piece, judging) for piece in counting.pieces(some)))


def on_spark(spark: SparkSession, runs: Sequence[RunInput], judging: bool) -> Counted:
    """Count in a running session: one job, whose tasks count some pieces each."""
    return _whole(runs, lambda some: _job(spark, some, judging))


def _whole(runs: Sequence[RunInput], counts: Count) -> Counted:
    """Count the runs. If a part of one cannot be read, count the others again, since sums over several runs cannot be
    separated.
    """
    corrupt: list[Corrupt] = []
    while True:
        damaged: dict[str, str] = {}
        tables = counting.completed(_undamaged(counts(runs), damaged))
        if not damaged:
            return Counted(tables, list(runs), corrupt)
        corrupt += [left_out(run.folder, damaged[run.run]) for run in runs if run.run in damaged]
        runs = [run for run in runs if run.run not in damaged]


def _undamaged(answers: Iterable[Answer], damaged: dict[str, str]) -> Iterator[Tables]:
    for tables, reasons in answers:
        damaged |= reasons
        if not reasons:
            yield tables


def _job(spark: SparkSession, runs: Sequence[RunInput], judging: bool) -> Iterator[Answer]:
    listed = list(counting.pieces(runs))
    tasks = min(len(listed), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    if not tasks:
        return
    groups = [(listed[number::tasks], judging) for number in range(tasks)]
    for written, damaged in spark.sparkContext.parallelize(groups, tasks).map(_counted).collect():
        yield {name: _read(each) for name, each in written.items()}, damaged


def _piece(piece: RunInput, judging: bool) -> Answer:
    try:
        return counting.counted(piece, judging), {}
    except CorruptRun as why:
        return {}, {piece.run: str(why)}
    except (ArithmeticError, LookupError, TypeError, ValueError) as why:
        return {}, {piece.run: unreadable(why)}


def _counted(task: tuple[list[RunInput], bool]) -> tuple[dict[str, bytes], dict[str, str]]:
    listed, judging = task
    damaged: dict[str, str] = {}
    found = counting.merged(_undamaged((_piece(each, judging) for each in listed), damaged))
    return {name: _written(each) for name, each in found.items()}, damaged


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _read(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
