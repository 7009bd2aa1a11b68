"""Which worker runs which tests, and in which order.

Tests that mostly wait (for containers, processes, JVMs, sockets) have workers of their own beside the workers of tests
that mostly compute, and help those when nothing is left that waits. Whoever computes runs at a lower priority, so that
a lab gets a core at once when it needs one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from xdist.scheduler import LoadScopeScheduling

T = TypeVar("T")

ONE_WORKER = {
    "chaos/docker/test_docker_rocketmq.py": "rocketmq in containers",
    "chaos/docker/": "docker", "compose/": "examples", "examples/": "examples", "java/": "java",
    "chaos/process/test_process_rocketmq.py": "rocketmq", "chaos/process/test_process_scenarios.py": "scenarios",
    "chaos/process/": "processes",
}  # fmt: skip
"""Beginnings of paths whose tests run one after another: they count what is on the engine, start JVMs, or start several
labs at once. The first that fits counts."""
ONE_SESSION = (
    "reports/test_comparing.py", "reports/test_histories.py", "reports/test_pages.py", "reports/test_questions.py",
    "reports/test_report_command.py", "reports/test_spark_judge.py", "reports/test_tables.py",
)  # fmt: skip
"""Files whose tests compute, and use Spark: one worker starts it, and what its JVM has compiled serves them all."""
LONG = ("spark", "docker", "java", "scenarios", "rocketmq in containers")
"""Parts that take minutes: begun first, so that none of them is what all other workers wait for in the end."""
WAITING = (*ONE_WORKER, "reference/shell/", "chaos/test_toxiproxy")
"""Beginnings of the paths of tests that mostly wait."""
COMPUTING_WORKERS = 2
"""As many as there are cores where CI runs; all other workers take tests that wait."""
EACH_ALONE = ("chaos/test_mutants.py", "chaos/test_scenario_files.py")
"""Files with many tests that share no fixture: any worker may take the next test."""


def path_of(nodeid: str) -> str:
    """A test's file, from the folder tests on."""
    return str(PurePosixPath(nodeid.partition("::")[0]).relative_to("tests"))


def part_of(nodeid: str) -> str:
    """What one worker takes as a whole: a group of ONE_WORKER, ONE_SESSION, a test of EACH_ALONE, or else a file."""
    path = path_of(nodeid)
    if path in EACH_ALONE:
        return nodeid
    if path in ONE_SESSION:
        return "spark"
    return next((group for begins, group in ONE_WORKER.items() if path.startswith(begins)), path)


def waits(part: Iterable[str]) -> bool:
    """Whether the tests of a part, of which the names are given, mostly wait."""
    return path_of(next(iter(part))).startswith(WAITING)


def is_waiting(worker: str, workers: int) -> bool:
    """Whether a worker (``gw0`` is the first) takes tests that wait: of two or more, the last one at least."""
    return int(worker.removeprefix("gw")) >= max(1, min(COMPUTING_WORKERS, workers - 1))


class Grouped(LoadScopeScheduling):
    """Gives each worker parts of its kind; then workers that wait take parts that compute, and others what waits once
    nobody else is left.

    ``--dist`` does not matter. xdist's own groups (``--dist loadgroup``) are void with pytest 9.2, whose node ids take
    no suffix any more.
    """

    def _split_scope(self, nodeid: str) -> str:
        return part_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        part = self._next(node)
        if part is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(part, last=False)
        super()._assign_work_unit(node)

    def _next(self, node: Any) -> str | None:
        parts = sorted(self.workqueue, key=lambda part: part not in LONG)
        mine = (part for part in parts if waits(self.workqueue[part]) == self._waits(node))
        others = (each for each in self.nodes if self._waits(each) and each is not node and not each.shutting_down)
        rest = None if not self._waits(node) and any(others) else next(iter(parts), None)
        return next(mine, rest)

    def _waits(self, node: Any) -> bool:
        return is_waiting(node.gateway.id, self.numnodes)


def shuffled(items: list[T], group: Callable[[T], object], seed: str) -> list[T]:
    """Neighbours of one group stay together; groups, and what is in each, come in an order that the seed decides."""
    chance = random.Random(seed)
    groups = [list(each) for _, each in groupby(items, group)]
    chance.shuffle(groups)
    for each in groups:
        chance.shuffle(each)
    return [item for each in groups for item in each]


def never_marked(path: Path, wanted: str) -> bool:
    """Whether a test file holds nothing that ``-m`` wants: it never names the mark that ``wanted`` begins with."""
    mark = re.match(r"\w+", wanted)
    if mark is None or mark.group() == "not" or not path.match("test_*.py"):
        return False
    return f"mark.{mark.group()}" not in path.read_text(encoding="utf-8")
