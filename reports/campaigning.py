"""Plays a campaign on Spark's executors: each chunk is a task, and what it came to comes back through an accumulator.

Executors need Python, pyarrow and what else pairproof imports (requirements/run.txt), not pairproof: the code travels
as an archive. The run's folder must be the same on all machines. A task whose executor dies is played again by another
one, and writes the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any

from pyspark.accumulators import Accumulator, AccumulatorParam

from ..harness.errors import PairproofError
from .errors import SparkFailed
from .session import carry_code, session

if TYPE_CHECKING:
    from pyspark import SparkContext

POLL_S = 0.2


class Answers(AccumulatorParam[list[Any]]):
    """Collects what tasks answer, each with its number."""

    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
        value1 += value2
        return value1


class OnSpark:
    """An engine, see :class:`pairproof.harness.campaign.campaign.Engine`. Use :func:`on_spark`."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def play(self, do: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Answers as tasks end. SparkFailed where one failed again and again, PairproofError with what it said."""
        if not tasks:
            return
        answers: Accumulator[list[Any]] = self._context.accumulator([], Answers())
        job = Job(self._context, answers, do, tasks)
        job.start()
        heard: set[int] = set()
        read = 0
        try:
            while True:
                over = not job.is_alive()
                found = answers.value
                for number, answer in found[read:]:
                    read += 1
                    if isinstance(answer, PairproofError):
                        raise answer
                    if number not in heard:
                        heard.add(number)
                        yield answer
                if over:
                    break
                sleep(POLL_S)
        finally:
            if job.is_alive():
                self._context.cancelAllJobs()
                job.join()
        if job.failed is not None:
            raise job.failed
        if len(heard) != len(tasks):
            raise SparkFailed(f"Spark ended, and {len(tasks) - len(heard)} of {len(tasks)} tasks did not answer")


class Job(Thread):
    """Has Spark do the tasks, each once as far as this process hears of it."""

    def __init__(
        self, context: SparkContext, answers: Accumulator[list[Any]], do: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
    ) -> None:  # fmt: skip
        super().__init__(daemon=True)
        self.failed: Exception | None = None
        self._context = context
        self._answers = answers
        self._do = do
        self._tasks = tasks

    def run(self) -> None:
        numbered = list(enumerate(self._tasks))
        try:
            self._context.parallelize(numbered, len(numbered)).foreach(answering(self._do, self._answers))
        except Exception as why:
            self.failed = why


def answering(do: Callable[..., Any], answers: Accumulator[list[Any]]) -> Callable[[tuple[int, tuple[Any, ...]]], None]:
    """What an executor does with a task. What pairproof itself refuses is an answer: trying again would not help."""

    def answer(numbered: tuple[int, tuple[Any, ...]]) -> None:
        number, task = numbered
        try:
            told = do(*task)
        except PairproofError as why:
            told = why
        answers.add([(number, told)])

    return answer


@contextmanager
def on_spark(master: str | None) -> Iterator[OnSpark]:
    """The engine, for the ``with`` block. NoJava where there is none, SparkFailed for whatever ends Spark's work."""
    with TemporaryDirectory(prefix="pairproof-code-") as folder, session(master, name="pairproof campaign") as spark:
        carry_code(spark, Path(folder))
        yield OnSpark(spark.sparkContext)
