"""What counts for a report: Spark, or Arrow in this process. Both make the same tables, and so the same pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from pairproof.reports import java, local
from pairproof.reports.errors import NoJava
from pairproof.reports.inputs import RunInput
from pairproof.reports.measures import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Said = Callable[[str], None]
Trials = Iterable[tuple[str, int]]


class Engine(Protocol):
    """Counts some runs."""

    without_spark: str
    """Why it is not Spark, where that was asked for."""

    def measure(self, judging: bool) -> dict[str, pa.Table]:
        """Every table of :mod:`pairproof.reports.measures`; ``judging``: recorded histories are judged again."""

    def of_trials(self, table: str, wanted: Trials) -> pa.Table:
        """The rows of these trials in a run-folder table, sorted; needs :meth:`measure`."""

    def kept(self, at_most: int) -> pa.Table:
        """Of the first trials whose histories were kept: run, trial, origin, seed, events; needs :meth:`measure`."""

    def by_search(self) -> pa.Table:
        """What :data:`~pairproof.reports.measures.BY_SEARCH` says; needs :meth:`measure`."""

    def timelines(self, wanted: Trials, at_most: int) -> pa.Table:
        """The first events of the histories of these trials, as far as they can be read; needs :meth:`measure`."""


class OnSpark:
    """Spark's session does all of it."""

    without_spark = ""

    def __init__(self, spark: SparkSession, runs: Sequence[RunInput], said: Said) -> None:
        self._spark = spark
        self._runs = runs
        self._said = said

    def measure(self, judging: bool) -> dict[str, pa.Table]:
        from pairproof.reports import tables

        return tables.measure(self._spark, self._runs, self._said, judging)

    def of_trials(self, table: str, wanted: Trials) -> pa.Table:
        from pairproof.reports import tables

        return tables.of_trials(self._spark, table, wanted)

    def kept(self, at_most: int) -> pa.Table:
        from pairproof.reports import tables

        return tables.kept(self._spark, at_most)

    def by_search(self) -> pa.Table:
        from pairproof.reports import tables

        return tables.by_search(self._spark)

    def timelines(self, wanted: Trials, at_most: int) -> pa.Table:
        from pairproof.reports import tables

        return tables.timelines(self._spark, self._runs, wanted, at_most)


class Here:
    """Arrow does, in this process."""

    def __init__(self, runs: Sequence[RunInput], without_spark: str = "") -> None:
        self.without_spark = without_spark
        self._runs = runs
        self._unreadable: set[tuple[str, str]] = set()

    def measure(self, judging: bool) -> dict[str, pa.Table]:
        found, self._unreadable = local.measured(self._runs, judging)
        return found

    def of_trials(self, table: str, wanted: Trials) -> pa.Table:
        return local.of_trials(self._runs, table, wanted)

    def kept(self, at_most: int) -> pa.Table:
        return local.kept(self._runs, at_most)

    def by_search(self) -> pa.Table:
        return local.by_search(self._runs)

    def timelines(self, wanted: Trials, at_most: int) -> pa.Table:
        return local.of_trials(self._runs, "history", wanted, at_most, self._unreadable)


@contextmanager
def engine(name: str, master: str | None, runs: Sequence[RunInput], said: Said) -> Iterator[Engine]:
    """The engine of that name, for the ``with`` block; the local one where Spark finds no Java."""
    if name == SPARK:
        try:
            java.find()
        except NoJava as why:
            said("counting without Spark")
            yield Here(runs, f"counted without Spark: {why}")
            return
        # Imported only where it is used.
        from pairproof.reports.session import session

        said("starting Spark")
        with session(master, sum(run.size_bytes for run in runs)) as spark:
            yield OnSpark(spark, runs, said)
        return
    said("counting")
    yield Here(runs)
