"""Runs a campaign on Spark's executors: each chunk is a task, whose result returns through an accumulator.

Executors need Python, pyarrow and pairproof's other imports (requirements/run.txt), not pairproof: its code travels as
an archive. The run's folder must be the same on all machines. If an executor dies, another one executes its task again,
and writes the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
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
        numbered = list(enumerate(tasks))
        pool = ThreadPoolExecutor(1)
        job = pool.submit(lambda: self._context.parallelize(numbered, len(numbered)).foreach(answering(do, answers)))
        answered: set[int] = set()
        read = 0
        try:
            while True:
                over = job.done()
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
            if not job.done():
                self._context.cancelAllJobs()
            pool.shutdown()
        job.result()
        if len(answered) != len(tasks):
            raise SparkFailed(f"Spark ended, and {len(tasks) - len(answered)} of {len(tasks)} tasks did not answer")


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
