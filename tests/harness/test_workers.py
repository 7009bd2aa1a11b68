"""Trials side by side: each is played once, whatever becomes of a process; nothing is left when it is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import held_lab
import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.errors import LabError, PairproofError, UsageError
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.profiles import REAL, Profile, profile
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.runs.reader import RunReader
from pairproof.harness.trials import resolve
from pairproof.harness.trials.trial import Trial
from pairproof.harness.trials.workers import Workers

PAIRPROOF = str(Path(sys.executable).parent / "pairproof")
SEEDED = profile(REAL)._replace(shares={"swarm": 0.7, "cluster": 0.3})
CHECK = ["check", "--lab", "held", "--seed", "s", "--law", "log-grows", "--law", "ha-start-offset"]


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    held_lab.register(tmp_path / "held", monkeypatch)
    yield tmp_path / "held"
    held_lab.forget()


def play(jobs: int, tasks: int) -> tuple[Workers[int, Any], dict[int, Any]]:
    workers = Workers(jobs, held_lab.double, "held", "reference")
    try:
        return workers, dict(workers.play(range(tasks)))
    finally:
        assert workers.close() == []


def test_every_task_is_done_once_and_labs_are_used_again_and_given_back(held: Path) -> None:
    _, answers = play(3, 12)
    assert {task: answer[0] for task, answer in answers.items()} == {task: 2 * task for task in range(12)}
    used = {answer[1] for answer in answers.values()}
    assert len(used) <= 3 and os.getpid() not in used
    assert used == held_lab.pids(held, "opened") == held_lab.pids(held, "closed")


def test_no_more_processes_than_tasks_and_no_task_is_drawn_before_somebody_is_free(held: Path) -> None:
    drawn: list[int] = []
    workers = Workers(2, held_lab.double, "held", "reference")
    try:
        for heard, _ in enumerate(workers.play(drawn.append(each) or each for each in range(6)), 1):  # type: ignore[func-returns-value]
            assert len(drawn) <= heard + 1
    finally:
        workers.close()
    play(5, 1)
    assert len(held_lab.pids(held, "opened")) <= 3


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [("fail", LabError, "the lab burns"), ("die", LabError, "ended with exit code -9"), ("cannot", UsageError, "here")],
)
def test_who_fails_says_why_and_the_others_go_on(wrong: str, kind: type[PairproofError], said: str, held: Path) -> None:
    (held / wrong).touch()
    workers, answers = play(2, 8)
    (failed,) = [each for each in answers.values() if isinstance(each, PairproofError)]
    assert type(failed) is kind and said in str(failed)
    assert len(answers) == 8 and workers.left == 1
    died = held_lab.pids(held, "opened") - held_lab.pids(held, "closed")
    assert len(died) == (wrong == "die")


def test_where_nobody_is_left_the_rest_is_not_done(held: Path) -> None:
    (held / "fail").touch()
    workers, answers = play(1, 8)
    assert list(answers) == [0] and isinstance(answers[0], LabError) and workers.left == 0


def test_a_wrong_name_is_said_by_the_process(held: Path) -> None:
    workers = Workers(2, held_lab.double, "moon", "reference")
    _, why = next(workers.play([1]))
    workers.close()
    assert isinstance(why, UsageError) and "unknown lab 'moon'" in str(why)


@pytest.mark.parametrize("do", [held_lab.own_up, held_lab.own_up_in_a_finalizer])
def test_interrupted_tasks_may_say_how_far_they_came(held: Path, do: Callable[..., str]) -> None:
    (held / "wait").touch()
    workers = Workers(3, do, "held", "reference")

    def tasks() -> Iterator[int]:
        yield from (1, 2)
        until(lambda: len(held_lab.pids(held, "opened")) == 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(workers.play(tasks()))
    assert sorted(workers.close()) == [(1, "1 was interrupted"), (2, "2 was interrupted")]
    assert held_lab.pids(held, "closed") == held_lab.pids(held, "opened")


def test_what_goes_on_for_too_long_is_not_waited_for(held: Path) -> None:
    (held / "wait").touch()
    workers = Workers(2, held_lab.own_up, "held", "reference")
    assert list(workers.play([1, 2, 3], lambda: 0.0)) == []
    until(lambda: len(held_lab.pids(held, "opened")) == 2)
    assert len(workers.close()) == 2 and held_lab.pids(held, "closed") == held_lab.pids(held, "opened")


def until(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.02)


def explore(target: str, chosen: Profile = SEEDED, **options: Any) -> tuple[Any, list[Trial]]:
    trials: list[Trial] = []
    lab = resolve.lab("held")
    found = Explorer(lab, resolve.target(target), chosen, "real", jobs=2, on_trial=trials.append, **options).run()
    return found, trials


def test_an_exploration_plays_the_same_schedules_side_by_side_and_counts_each_once(held: Path) -> None:
    found, trials = explore("reference", profile(REAL), trials=16)
    assert set(found.by_origin) == {"sweep", "known-bugs", "swarm", "cluster", "machine"} and found.findings == []
    assert sorted(each.number for each in trials) == list(range(found.trials))
    lab = resolve.lab("held")
    alone: list[Trial] = []
    Explorer(lab, resolve.target("reference"), SEEDED, "real", trials=12, on_trial=alone.append).run()
    for origin in ("swarm", "cluster"):
        beside = {each.schedule.seed: each for each in trials if each.origin == origin}
        assert len(beside) == found.by_origin[origin]
        common = [each for each in alone if each.origin == origin and each.schedule.seed in beside]
        assert common
        for each in common:
            again = beside[each.schedule.seed]
            assert (again.schedule, again.events, again.judgements) == (each.schedule, each.events, each.judgements)
    workers = held_lab.pids(held, "closed")
    assert len(workers) == 2 and held_lab.pids(held, "opened") == {*workers, os.getpid()}


def test_the_next_search_begins_while_the_last_one_s_trial_is_going_on(held: Path) -> None:
    both = []

    def let_go() -> None:
        with suppress(AssertionError):
            until(lambda: len(held_lab.pids(held, "opened")) == 2)
            both.append(True)
        (held / "wait").unlink()

    (held / "wait").touch()
    helper = threading.Thread(target=let_go)
    helper.start()
    even = SEEDED._replace(shares={"swarm": 0.5, "cluster": 0.5})
    found, _ = explore("reference", even, trials=2)
    helper.join()
    assert both and list(found.by_origin.values()) == [1, 1]


def test_a_number_of_trials_is_kept_exactly_side_by_side(held: Path) -> None:
    found, trials = explore("reference", profile(REAL), trials=7)
    assert sum(found.by_origin.values()) == 7 and sorted(each.number for each in trials) == list(range(7))


def test_what_other_processes_find_is_shrunk(held: Path) -> None:
    found, trials = explore("reference+rounds_start", trials=12)
    assert found.verdicts["ha-start-offset"] is Verdict.VIOLATED
    (first, *_) = [each for each in found.findings if each.law == "ha-start-offset"]
    assert first.shrunk_in == "sim" and len(first.schedule.ops) < first.original_ops
    numbers = [each.number for each in trials]
    assert len(set(numbers)) == len(numbers) == found.trials and {first.trial, first.shrunk_trial} <= set(numbers)


def only_run(folder: Path) -> RunReader:
    (found,) = [each for each in (folder / "runs").iterdir() if each.is_dir() and not each.is_symlink()]
    return RunReader(found)


@pytest.mark.parametrize("wrong", ["fail", "die"])
def test_check_goes_on_without_a_process_that_failed_and_does_not_call_it_a_success(
    wrong: str, held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*CHECK, "--jobs", "2", "--trials", "6"]) == 0
    (only_run(tmp_path).folder).rename(tmp_path / "good")
    (held / wrong).touch()
    capsys.readouterr()
    assert main([*CHECK, "--jobs", "2", "--trials", "6", "--json", "answer.json"]) == 4
    said = capsys.readouterr().out
    reason = "the lab burns" if wrong == "fail" else "a process that played trials ended with exit code -9"
    assert f"the lab of one of 2 processes failed, the others go on: {reason}" in said and ": 1 of 1 hold" in said
    reader = only_run(tmp_path)
    assert (reader.facts["state"], json.loads(Path("answer.json").read_text())["state"]) == ("failed", "failed")
    assert reader.facts["reason"].startswith(reason) and len(list(reader.trials())) == reader.facts["trials"] > 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_there_is_of_a_trial_in_which_the_lab_failed_is_kept_and_can_be_replayed(
    jobs: str, held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (held / "burn").touch()
    assert main([*CHECK, "--jobs", jobs, "--trials", "6"]) == 4
    (kept,) = only_run(tmp_path).folder.glob("failures/*.json")
    assert str(kept.relative_to(tmp_path)) in capsys.readouterr().out.replace("\n", "")
    told = json.loads(kept.read_text())
    assert told["text"] == "the lab burns down" and told["program"]
    assert {"append", "mark"} <= {each["kind"] for each in told["history"]}
    assert main(["replay", str(kept), "--repeat", "1"]) == 0
    assert "the lab did not fail this time; the recorded failure: the lab burns down" in capsys.readouterr().out


def test_a_violation_is_told_before_a_lab_that_failed(
    held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (held / "fail").touch()
    assert main([*CHECK, "--jobs", "2", "--trials", "12", "--target", "reference+rounds_start"]) == 1


def test_check_goes_on_where_one_schedule_is_refused(
    held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (held / "cannot").touch()
    assert main([*CHECK, "--jobs", "2", "--trials", "6"]) == 0
    assert "1 schedule of the searches refused: that cannot be done here" in capsys.readouterr().out
    assert only_run(tmp_path).facts["refused"] == ["1 schedule of the searches refused: that cannot be done here"]


def test_check_ends_where_nobody_can_go_on(
    held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (held / "fail").touch()
    # The process that is not asked for a trial any more is closed, too.
    import pairproof.harness.commands.options  # noqa: F401 - the range of --jobs is read when this is imported

    monkeypatch.setattr("pairproof.harness.trials.workers.MAX_JOBS", 1)
    assert main([*CHECK, "--jobs", "2", "--trials", "6"]) == 4
    assert capsys.readouterr().err.splitlines()[-1].endswith("the lab burns")
    assert only_run(tmp_path).facts["state"] == "failed"
    assert held_lab.pids(held, "closed") == held_lab.pids(held, "opened")


def test_more_processes_than_anybody_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--jobs", "17"]) == 2 and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_whatever_ends_it_no_process_stays_and_labs_are_given_back(
    how: signal.Signals, code: int, held: Path, tmp_path: Path
) -> None:
    (held / "wait").touch()
    process = subprocess.Popen(
        [PAIRPROOF, *CHECK, "--jobs", "3", "--trials", "1000"], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        until(lambda: len(held_lab.pids(held, "opened")) == 3)
        if how is signal.SIGKILL:
            process.send_signal(how)
        else:
            # As a terminal does: to all of them.
            os.killpg(process.pid, how)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code and "Traceback" not in said, said
    opened = held_lab.pids(held, "opened")
    until(lambda: held_lab.pids(held, "closed") == opened and not any(map(alive, opened)))
    assert only_run(tmp_path).facts["state"] == ("running" if how is signal.SIGKILL else "interrupted")


def alive(pid: int) -> bool:
    try:
        # One that ended and was not waited for has no command line.
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False
