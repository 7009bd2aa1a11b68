"""Play a campaign in processes of this machine, by default one for each core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import PairproofError
from ..ports import Lab, Target
from ..trials.workers import Workers
from .plan import Plan


class Local:
    """``jobs`` processes; with one, this one."""

    def __init__(self, plan: Plan, jobs: int) -> None:
        self._plan = plan
        self._jobs = jobs

    def play(self, do: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        if self._jobs == 1:
            for task in tasks:
                yield do(*task)
            return
        workers: Workers[tuple[Callable[..., Any], tuple[Any, ...]], Any]
        workers = Workers(self._jobs, _done, self._plan.lab, self._plan.target)
        try:
            for _, answer in workers.play((do, task) for task in tasks):
                if isinstance(answer, PairproofError):
                    raise answer
                yield answer
        finally:
            workers.close()


def _done(lab: Lab, target: Target, task: tuple[Callable[..., Any], tuple[Any, ...]]) -> Any:
    # The plan's own environment is used, which also has the enumerated schedules.
    do, arguments = task
    return do(*arguments)
