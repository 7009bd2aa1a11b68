"""Who runs which tests: waiting tests beside computing ones, everything once, whatever becomes of a worker."""

from __future__ import annotations

from collections import defaultdict
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scheduling import LONG, ONE_SESSION, Grouped, never_marked, part_of, shuffled

from pairproof.harness import registry

COMPUTING = [f"tests/harness/test_{name}.py::test_{number}" for name in "abcd" for number in range(4)]
WAITING = [
    f"tests/{path}::test_{number}"
    for path in (
        "java/test_java_x.py",
        "chaos/docker/test_d.py",
        "chaos/docker/test_docker_rocketmq.py",
        "compose/test_c.py",
        "chaos/process/test_p.py",
        "chaos/process/test_process_rocketmq.py",
        "chaos/process/test_process_scenarios.py",
    )
    for number in range(4)
]


class Worker:
    """A worker that does at once what it is given."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.given: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def scheduled(tests: list[str], workers: int) -> tuple[Grouped, list[Worker]]:
    config: Any = SimpleNamespace(
        getvalue=lambda name: ["popen"] * workers, option=SimpleNamespace(loadscopereorder=True)
    )
    made = Grouped(config)
    them = [joined(made, number, tests) for number in range(workers)]
    made.schedule()
    return made, them


def joined(made: Grouped, number: int, tests: list[str] | None = None) -> Worker:
    worker: Any = Worker(number)
    made.add_node(worker)
    made.add_node_collection(worker, tests or made.collection or [])
    return worker


def run_all(made: Grouped, workers: list[Worker], dies: Worker | None = None) -> dict[str, list[str]]:
    """What each worker has run, all in turn; ``dies`` dies in its second test, and another takes its place."""
    tests = made.collection or []
    run: dict[str, list[str]] = defaultdict(list)
    while any(each.given for each in workers):
        for each in list(workers):
            if not each.given:
                continue
            if each is dies and run[each.gateway.id]:
                each.given = []
                made.remove_node(each)  # type: ignore[arg-type]
                workers.append(joined(made, len(workers)))
                made.schedule()
                continue
            index = each.given.pop(0)
            run[each.gateway.id].append(tests[index])
            made.mark_test_complete(each, index)  # type: ignore[arg-type]
    return run


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7, 9])
@pytest.mark.parametrize("tests", [COMPUTING, WAITING, COMPUTING + WAITING, WAITING[:1], [*COMPUTING[:3], WAITING[0]]])
def test_every_test_runs_once_and_the_parts_stay_together(workers: int, tests: list[str]) -> None:
    run = run_all(*scheduled(tests, workers))
    assert sorted(each for found in run.values() for each in found) == sorted(tests)
    for part in {part_of(each) for each in tests}:
        assert len([worker for worker, found in run.items() if part in map(part_of, found)]) == 1


def test_waiting_tests_run_beside_computing_ones() -> None:
    run = run_all(*scheduled(COMPUTING + WAITING, 7))
    assert {*run["gw0"], *run["gw1"]} == {*COMPUTING} and run["gw0"] and run["gw1"]
    parts = [list(dict.fromkeys(map(part_of, run[each]))) for each in ("gw2", "gw3", "gw4", "gw5", "gw6")]
    assert sorted(map(len, parts)) == [1, 1, 1, 2, 2]
    assert {*LONG} - {"spark"} <= {each[0] for each in parts}


@pytest.mark.parametrize("which", range(7))
def test_what_a_worker_that_died_has_left_is_run_by_others(which: int) -> None:
    made, workers = scheduled(COMPUTING + WAITING, 7)
    run = run_all(made, workers, workers[which])
    assert {each for found in run.values() for each in found} == {*COMPUTING, *WAITING}


def test_mutants_are_taken_one_by_one() -> None:
    tests = [f"tests/chaos/test_mutants.py::test_mutant[{number}]" for number in range(12)]
    run = run_all(*scheduled(tests, 6))
    assert sum(map(len, run.values())) == 12 and {*run["gw0"]} and {*run["gw1"]}


def test_tests_with_spark_share_one_computing_worker() -> None:
    tests = [f"tests/{path}::test_a" for path in ONE_SESSION]
    run = run_all(*scheduled([*tests, *COMPUTING, *WAITING], 7))
    (worker,) = (each for each, found in run.items() if {*found} & {*tests})
    assert worker in ("gw0", "gw1") and {*tests} <= {*run[worker]}


def test_the_seed_decides_the_order_and_files_stay_whole() -> None:
    one, again, other = (shuffled(COMPUTING, lambda each: each.split("::")[0], seed) for seed in ("1", "1", "2"))
    assert one == again != other and sorted(one) == sorted(COMPUTING)
    files = [each.split("::")[0] for each in one]
    assert len({*files}) == 1 + sum(before != after for before, after in pairwise(files))


def test_files_without_the_mark_are_left_out_only_where_a_mark_is_asked_for(tmp_path: Path) -> None:
    slow, quick, helper = (tmp_path / name for name in ("test_slow.py", "test_quick.py", "helper.py"))
    for path, text in ((slow, "pytestmark = pytest.mark.slow\n"), (quick, "x = 1\n"), (helper, "x = 1\n")):
        path.write_text(text)
    assert [never_marked(path, "slow and not nightly") for path in (slow, quick, helper)] == [False, True, False]
    assert [never_marked(path, "not slow") for path in (slow, quick, helper)] == [False, False, False]
    assert [never_marked(path, "") for path in (slow, quick, helper)] == [False, False, False]


def test_what_somebody_has_plugged_in_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stranger", "held"):
        made = tmp_path / f"{name}-1.dist-info"
        made.mkdir()
        (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (made / "entry_points.txt").write_text(f"[pairproof.laws]\n{name} = {name}:LAW\n")
    before = registry.names("laws")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._group.cache_clear()
    try:
        assert "stranger" in entry_points(group="pairproof.laws").names
        assert registry.names("laws") == sorted([*before, "held"])
        for plugins, known in (("", set()), ("stranger,other", {"stranger"}), (None, {"stranger", "held"})):
            monkeypatch.setenv(registry.PLUGINS, plugins) if plugins is not None else monkeypatch.delenv(
                registry.PLUGINS
            )
            registry._group.cache_clear()
            assert set(registry.names("laws")) - set(before) >= known, plugins
            assert plugins is None or set(registry.names("laws")) - set(before) == known
    finally:
        monkeypatch.undo()
        registry._group.cache_clear()
