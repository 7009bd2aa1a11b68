"""A run is the same with any number of processes, wherever its slices end, and keeps the same histories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import held_lab
import pytest

from pairproof.harness.commands import options
from pairproof.harness.commands.main import main
from pairproof.harness.exploration import slices
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.profiles import profile
from pairproof.harness.exploration.retention import Retention
from pairproof.harness.exploration.slices import MACHINE, SLICE, Slice
from pairproof.harness.judging import judge
from pairproof.harness.rocketmq.corpus import corpus
from pairproof.harness.runs.reader import RunReader
from pairproof.harness.runs.sampling import Sampling
from pairproof.harness.search import machine
from pairproof.harness.trials import resolve
from pairproof.harness.trials.trial import Trial
from pairproof.harness.trials.workers import Workers

SIM, REFERENCE = resolve.lab("sim"), resolve.target("reference")
LAWS = judge.laws(["ack-replicated", "log-prefix"])
EVERY_SEARCH = profile("quick")._replace(
    shares={"sweep": 0.3, "truncation": 0.1, "cluster": 0.1, "swarm": 0.2, "machine": 0.3}
)


@pytest.fixture(autouse=True)
def small_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice and a bit: the whole corpus takes as long as a hundred trials."""
    found = corpus()[: SLICE + 2]
    monkeypatch.setattr("pairproof.harness.rocketmq.system.RocketMQ.corpus", lambda _: found)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    held_lab.register(tmp_path / "held", monkeypatch)
    yield tmp_path / "held"
    held_lab.forget()


def explored(
    jobs: int, target: str = "reference", retention: Retention | None = None, **bounds: Any
) -> tuple[Any, list[Any]]:
    """What a run came to, and its trials, each as a value."""
    trials: list[Trial] = []
    found = Explorer(
        SIM, resolve.target(target), EVERY_SEARCH, "s", LAWS, jobs=jobs, on_trial=trials.append, retention=retention,
        **(bounds or {"trials": 140}),
    ).run()  # fmt: skip
    about = found._replace(seconds=0, shrinking_s=0, coverage=found.coverage.rows(), tally=None)
    return about, [each._replace(measured=each.measured and each.measured._replace(coverage=())) for each in trials]


def test_a_run_is_the_same_with_any_number_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    one = explored(1)
    assert {each.origin for each in one[1]} == {"corpus", *EVERY_SEARCH.shares}
    # Two batches of the machine. With two processes and whole slices: below.
    assert one[0].by_origin["machine"] > machine.BATCH
    monkeypatch.setattr(slices, "SLICE", 3)
    assert one == explored(3)


def test_what_processes_find_is_shrunk_in_its_turn() -> None:
    found, trials = explored(1, "reference+acks_at_once", trials=50)
    assert found.findings and (found, trials) == explored(2, "reference+acks_at_once", trials=50)
    assert [each.number for each in trials] == list(range(found.trials))


def test_the_first_violation_is_the_first_however_many_look_for_it() -> None:
    (first, trials), (found, beside) = (
        explored(jobs, "reference+acks_at_once", first=True, trials=400) for jobs in (1, 2)
    )
    assert first.findings and first.findings == found.findings and trials == beside


def test_a_trial_leaves_its_history_behind_unless_somebody_wants_it() -> None:
    rarely = Retention(Sampling("s", 10))
    (all_of_it, whole), (counted, some) = explored(1, trials=40), explored(1, retention=rarely, trials=40)
    assert (counted, some) == explored(2, retention=rarely, trials=40)
    assert all_of_it == counted
    kept = [each for each in some if each.events]
    assert 0 < len(kept) < len(some) / 2
    assert all(each.events in ([], same.events) for each, same in zip(some, whole, strict=True))
    assert [each.measured for each in some] == [each.measured for each in whole]
    # Who violates a law keeps it.
    _, broken = explored(1, "reference+acks_at_once", Retention(Sampling("s", 10**9)), trials=20)
    assert {bool(each.events) for each in broken} == {True, False}
    for each in broken:
        assert bool(each.events) == any(judgement.broken for judgement in each.judgements)


def played(origin: str, first: int, trials: int) -> list[Any]:
    part = Slice(origin, "s", first, trials, (), Retention())
    return [(each.schedule, each.events) for each in slices.play(SIM, REFERENCE, part)]


def test_a_slice_is_a_part_of_the_whole() -> None:
    whole = played("swarm", 0, 6)
    assert played("swarm", 0, 4) + played("swarm", 4, 2) == whole and len(whole) == 6


def test_the_machine_plays_whole_batches_and_exactly_as_many_as_were_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "BATCH", 8)
    assert slices.size(MACHINE, SIM, 1) == slices.size(MACHINE, SIM, 8) == machine.BATCH
    first, second = (played(MACHINE, each * machine.BATCH, machine.BATCH) for each in range(2))
    assert len(first) == len(second) == machine.BATCH and first != second
    assert first == played(MACHINE, 0, machine.BATCH) and len(played(MACHINE, 0, 3)) == 3


def test_who_plays_alone_looks_at_its_bounds_before_each_trial(held: Path) -> None:
    assert [slices.size("swarm", SIM, jobs) for jobs in (1, 2)] == [1, SLICE]
    assert {slices.size(origin, resolve.lab("held"), 4) for origin in ("swarm", MACHINE)} == {1}


def test_answers_come_in_the_order_of_the_tasks_and_few_are_drawn_ahead(held: Path) -> None:
    drawn: list[int] = []
    workers: Workers[int, Any] = Workers(2, held_lab.double, "held", "reference")
    try:
        tasks = (drawn.append(each) or each for each in range(40))  # type: ignore[func-returns-value]
        heard = []
        for task, _ in workers.play_in_order(tasks):
            heard.append(task)
            assert len(drawn) <= len(heard) + 16
        assert heard == list(range(40))
    finally:
        workers.close()


@pytest.mark.parametrize("wrong", ["die", "fail"])
def test_who_fails_is_heard_in_its_turn(wrong: str, held: Path) -> None:
    (held / wrong).touch()
    workers: Workers[int, Any] = Workers(2, held_lab.double, "held", "reference")
    try:
        answers = list(workers.play_in_order(range(8)))
    finally:
        workers.close()
    assert [task for task, _ in answers] == list(range(8))
    assert sum(isinstance(answer, Exception) for _, answer in answers) == 1


def test_labs_with_real_time_play_what_cores_and_memory_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(2)))
    played = []
    for free in (64 << 30, 4 << 30, 1 << 29):
        monkeypatch.setattr(options, "free_memory", lambda free=free: free)
        played.append([options.default_jobs(False, each) for each in (None, 4, 10_000)])
    assert played == [[6, 4, 6], [2, 2, 2], [1, 1, 1]]


def test_check_uses_all_cores_where_there_is_work_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(3)))
    assert [options.default_jobs(True, each) for each in (None, 10, 150, 10_000)] == [3, 1, 2, 3]
    monkeypatch.chdir(tmp_path)
    rows = []
    for jobs in ("1", "2"):
        assert main(["check", "--trials", "50", "--seed", "s", "--law", "log-prefix", "--jobs", jobs]) == 0
        (folder,) = (tmp_path / "runs").iterdir()
        rows.append([{**each, "run": ""} for each in RunReader(folder).trials()])
        folder.rename(tmp_path / f"with-{jobs}")
    assert rows[0] == rows[1]
