"""``pairproof autopsy`` from outside: what it tells of a recorded trial, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pairproof.harness.errors import LabError, UsageError
from pairproof.harness.judging.law import Violation
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.rocketmq.commands.autopsy import command
from pairproof.harness.rocketmq.testing import H, pair
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.trial import Finding, Trial


def trial(number: int, history: H, *judgements: Judgement) -> Trial:
    return Trial(number, "swarm", Schedule({}, "s", ()), history.events, [*judgements])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    broken = pair().sent("m0").put("m1").ok("m1").add("crash", node="master", f="machine", value=100)
    broken.restart("master", 100).audit(records={"master": ["m0"], "slave": ["m0"]})
    violation = Violation(0, 0, "m1 (PUT_OK) is gone from the master", None)
    verdict = Judgement("contract", Verdict.VIOLATED, 1, 1, (violation,))
    with RunWriter(tmp_path / "r", {"keep": 10**9, "seed": "s"}) as writer:
        writer.trial(trial(3, broken, verdict))
        writer.trial(trial(4, pair().sent("m0").sent("m1")), keep=True)
        writer.trial(trial(5, pair().sent("m0")), keep=False)
    return tmp_path / "r"


def ask(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


def test_without_a_message_it_tells_of_the_one_that_the_violation_is_about(run: Path) -> None:
    done = ask(run, "--trial", 3)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].startswith("m1 was answered PUT_OK")
    assert "the only copy" in done.stdout and "and it with them" in done.stdout


def test_another_message_can_be_asked_for(run: Path) -> None:
    assert ask(run, "--trial", 3, "--message", "m0").stdout.splitlines()[-1].startswith("m0 was answered PUT_OK")


def test_a_trial_without_a_violation_lists_its_messages_with_their_fates_each_fate_once(run: Path) -> None:
    done = ask(run, "--trial", 4)
    assert "2 messages; --message KEY" in done.stdout
    (row,) = (line for line in done.stdout.splitlines() if "was answered" in line)
    assert row.strip().startswith("m0 and 1 like it, to m1 ")


def test_json_carries_the_same_story(run: Path) -> None:
    told = json.loads(ask(run, "--trial", 3, "--json").stdout)
    assert told["message"] == "m1" and "the only copy" in told["conclusion"]
    assert {"seq", "t", "text"} == set(told["lines"][0])
    assert [each["message"] for each in json.loads(ask(run, "--trial", 4, "--json").stdout)] == ["m0", "m1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--trial", 5), "kept no history of trial 5; kept: 3, 4;"),
        (("--trial", 99), "kept no history of trial 99"),
        (("--trial", 4, "--message", "m7"), "trial 4 has no message m7; its messages: m0, m1"),
        (("--trial", 4, "--message", ""), "trial 4 has no message ; its messages: m0, m1"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(run: Path, arguments: tuple[object, ...], said: str) -> None:
    done = ask(run, *arguments)
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception) and "\n" not in str(done.exception)


def test_a_finding_tells_of_its_own_trial_and_of_its_law_s_message(run: Path) -> None:
    schedule = Schedule({}, "s", ())
    with RunWriter(run.parent / "found", {"keep": "all", "seed": "s"}) as writer:
        history = pair().sent("m0").sent("m1").audit(records={"master": ["m0", "m1"], "slave": ["m0"]})
        first, second = (
            Judgement(law, Verdict.VIOLATED, 1, 1, (Violation(seq, 0, f"{message} is gone", message),))
            for seq, (law, message) in enumerate((("a-law", "m0"), ("contract", "m1")))
        )
        writer.trial(trial(3, history, first, second))
        path = writer.finding(Finding("contract", "m1 is gone", "reference", "sim", 1, 3, schedule, 5))
        lost = writer.failure("reference", "sim", failed())
    assert ask(path).stdout.splitlines()[-1].startswith("m1 was answered")
    assert ask(path, "--message", "m0").stdout.splitlines()[-1].startswith("m0 was answered")
    assert "a trial in which the lab failed" in str(ask(lost).exception)
    stray = run.parent / "stray.json"
    stray.write_bytes(path.read_bytes())
    assert "is not in its run's folder" in str(ask(stray).exception)


def failed() -> LabError:
    why = LabError("no disk")
    why.trial = trial(9, pair())
    return why


def test_a_run_without_a_trial_says_which_trials_are_red(run: Path) -> None:
    refused = ask(run).exception
    assert isinstance(refused, UsageError) and "--trial NUMBER; trials with a violation: 3" in str(refused)


def test_a_run_that_does_not_exist_or_a_trial_that_is_no_number_is_a_usage_error(tmp_path: Path) -> None:
    assert isinstance(ask(tmp_path / "nowhere", "--trial", 1).exception, UsageError)
    assert ask(tmp_path, "--trial", "x").exit_code == 2
    assert ask(tmp_path, "--trial", -1).exit_code == 2
