"""Runs a campaign on Spark's executors: each chunk is a task, whose result returns through an accumulator.

Executors need Python, pyarrow and pairproof's other imports (requirements/run.txt), not pairproof: its code travels as
an archive. The run's folder must be the same on all machines. If an executor dies, another one executes its task again,
and writes the same files.
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
        """Answers as tasks end. SparkFailed if a task failed repeatedly, PairproofError with its message."""
        if not tasks:
            return
        answers: Accumulator[list[Any]] = self._context.accumulator([], Answers())
        job = Job(self._context, answers, do, tasks)
        job.start()
        answered: set[int] = set()
        read = 0
        try:
            while True:
                over = not job.is_alive()
                found = answers.value
                for number, answer in found[read:]:
                    read += 1
                    if isinstance(answer, PairproofError):
                        raise answer
                    if number not in answered:
                        answered.add(number)
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
        if len(answered) != len(tasks):
            raise SparkFailed(f"Spark ended, and {len(tasks) - len(answered)} of {len(tasks)} tasks did not answer")


class Job(Thread):
    """Runs the tasks in Spark; this process uses one answer of each."""

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
    """An executor's function for a task. A refusal of pairproof is an answer: a retry would not help."""

    def answer(numbered: tuple[int, tuple[Any, ...]]) -> None:
        number, task = numbered
        try:
            result = do(*task)
        except PairproofError as why:
            result = why
        answers.add([(number, result)])

    return answer


@contextmanager
def on_spark(master: str | None) -> Iterator[OnSpark]:
    """The engine, for the ``with`` block. NoJava without Java, SparkFailed for any failure of Spark."""
    with TemporaryDirectory(prefix="pairproof-code-") as folder, session(master, name="pairproof campaign") as spark:
        carry_code(spark, Path(folder))
        yield OnSpark(spark.sparkContext)
