"""`pairproof check` from outside: its exit codes, its run folder, and what is left when it is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

from pairproof.harness import registry
from pairproof.harness.commands.main import main
from pairproof.harness.runs.reader import RunReader

PAIRPROOF = [str(Path(sys.executable).parent / "pairproof")]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PAIRPROOF, *arguments], capture_output=True, text=True, cwd=folder, timeout=120)


def only_run(folder: Path) -> Path:
    (found,) = [each for each in (folder / "runs").iterdir() if each.is_dir() and not each.is_symlink()]
    return found


def test_clean_target_exits_0_and_leaves_a_complete_run(tmp_path: Path) -> None:
    laws = [part for law in ("contract", "ha-contiguous", "log-prefix") for part in ("--law", law)]
    done = run(tmp_path, "check", "--trials", "40", "--seed", "s", "--json", "answer.json", *laws)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    reader = RunReader(only_run(tmp_path))
    assert answer["state"] == reader.facts["state"] == "complete"
    assert answer["trials"] == reader.facts["trials"] == len(list(reader.trials()))
    assert set(answer["laws"].values()) == {"holds"}


def test_broken_target_exits_1_and_its_replay_line_reproduces(tmp_path: Path) -> None:
    broken = ("--target", "reference+rounds_start", "--trials", "10", "--seed", "s", "--law", "ha-start-offset")
    done = run(tmp_path, "check", *broken)
    assert done.returncode == 1, done.stdout + done.stderr
    line = next(each for each in done.stdout.splitlines() if "replay: " in each).partition("replay: ")[2]
    again = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert again.returncode == 1 and "ha-start-offset" in again.stdout
    story = next(each for each in done.stdout.splitlines() if "autopsy: " in each).partition("autopsy: ")[2]
    told = subprocess.run(story, shell=True, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert told.returncode == 0 and "traces one" in told.stdout
    cured = run(tmp_path, *line.split()[1:], "--target", "reference")
    assert cured.returncode == 0, cured.stdout + cured.stderr


def test_first_ends_with_the_violation_and_says_nothing_of_what_there_was_no_time_for(tmp_path: Path) -> None:
    options = [
        "--target",
        "reference+drops_messages",
        "--first",
        "--trials",
        "5",
        "--seed",
        "s",
        "--json",
        "answer.json",
    ]
    done = run(tmp_path, "check", *options)
    assert done.returncode == 1, done.stdout + done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert "gave it nothing to judge" not in done.stdout
    assert {each["shrunk_in"] for each in answer["findings"]} == {""} and answer["trials"] < 30
    assert RunReader(only_run(tmp_path)).facts["corpus_must_judge"] == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--lab", "moon"], "unknown lab 'moon'; valid: docker, process, sim"),
        (["--target", "nobody"], "unknown target 'nobody'; valid: reference"),
        (["--target", "kafka"], ", rocketmq@VERSION"),
        (["--profile", "eternal"], "unknown profile 'eternal'; valid: quick, ci"),
        (["--law", "gravity"], "unknown law 'gravity'; valid: ack-bounded"),
        (["--time", "soon"], "--time wants a number above 0 with s, m or h, 168h at most"),
        (["--time", "0s"], "--time wants a number above 0"),
        (["--time", "8d"], "168h at most, such as 90s or 10m, not '8d'"),
        (["--profile", "known-bugs"], "profile known-bugs is for the process and docker labs, not for sim"),
        (["--known-bugs", "none"], '--known-bugs stands in pairproof.toml, in a table [check]: known-bugs = "none"'),
        (["--profile", "ci", "--lab", "process"], "profile ci counts thousands of trials, and process needs seconds"),
        (["--seed", os.fsdecode(b"a\xff")], "--seed must be text in UTF-8, not 'a\\udcff'"),
        (["--seed", "s" * 201], "--seed may have 200 characters at most, not 201"),
        (["--runs", "r" * 300], "File name too long; name another path with --runs"),
        (["--runs", "a-file"], "Not a directory; name another path with --runs"),
        (["--runs", os.fsdecode(b"a\xff")], "--runs must be text in UTF-8, not 'a\\udcff'"),
        (["--json", "nowhere/x.json"], "--json nowhere/x.json: there is no folder nowhere"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, arguments: list[str], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").touch()
    assert main(["check", *arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert len(said.strip().splitlines()) == 1 and not (tmp_path / "runs").exists()


def test_programs_of_known_bugs_that_a_file_leaves_out_are_no_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairproof.toml").write_text('[check]\nknown-bugs = "none"\n')
    assert main(["check", "--profile", "known-bugs", "--lab", "process"]) == 2
    told = "known-bugs = none leaves profile known-bugs nothing to play; leave one of them out"
    assert told in capsys.readouterr().err


def test_a_process_that_is_asked_for_something_wrong_says_so_on_one_line_and_exits_2(tmp_path: Path) -> None:
    done = run(tmp_path, "check", "--lab", "moon")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("how", "state", "reason"),
    [
        (signal.SIGINT, "interrupted", "interrupted by the user"),
        (signal.SIGTERM, "interrupted", "ended by SIGTERM"),
        pytest.param(signal.SIGHUP, "interrupted", "ended by SIGHUP", marks=pytest.mark.nightly),
        (signal.SIGKILL, "running", ""),
    ],
)
def test_run_that_is_ended_at_any_moment_can_be_read(
    tmp_path: Path, how: signal.Signals, state: str, reason: str
) -> None:
    environment: dict[str, Any] = {**os.environ, "PYTHONUNBUFFERED": "1"}
    (tmp_path / "pairproof.toml").write_text('[check]\nreport-engine = "local"\n')
    command = [*PAIRPROOF, "check", "--trials", "100000", "--seed", "s", "--report", "--junit", "junit.xml"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        # The tests may run under nohup.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not list(tmp_path.glob("runs/*/trials/part-*.parquet")):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(how)
        said, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    reader = RunReader(only_run(tmp_path))
    trials = len(list(reader.trials()))
    assert (reader.facts["state"], reader.facts.get("reason") or "") == (state, reason) and trials > 0
    if how is not signal.SIGKILL:
        assert process.returncode == 130 and "Traceback" not in said and reader.facts["trials"] == trials
        assert "interrupted before its end" in said.splitlines()[-3]
        assert f"{reason}; only its recorded trials are judged" in (tmp_path / "junit.xml").read_text()
    assert len(list(tmp_path.glob("runs/*/report/index.html"))) == (how is not signal.SIGKILL)
    if how is signal.SIGKILL:
        main(["report", str(reader.folder), "--engine", "local"])
        assert (reader.folder / "report" / "index.html").is_file()


@click.command("report")
@click.option("--engine")
@click.argument("folder")
def chatty_report(engine: str, folder: str) -> None:
    """Stands for the report: talks on standard output, and ends with a code of its own."""
    click.echo(f"report of {folder}")
    click.get_current_context().exit(3)


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find = registry.find

    def found(group: str, name: str) -> object:
        return chatty_report if (group, name) == ("commands", "report") else find(group, name)

    monkeypatch.setattr(registry, "find", found)
    monkeypatch.chdir(tmp_path)


ONE_LAW = ["check", "--trials", "5", "--seed", "s", "--law", "log-grows", "--report"]


def test_json_on_standard_output_stays_json_beside_a_report(faked: None, capsys: Any) -> None:
    assert main([*ONE_LAW, "--json", "-"]) == 3
    said = capsys.readouterr()
    assert json.loads(said.out)["laws"] == {"log-grows": "holds"}
    assert "report of runs/" in said.err


def test_report_is_told_on_standard_output_otherwise(faked: None, capsys: Any) -> None:
    assert main([*ONE_LAW, "--json", "answer.json"]) == 3
    assert capsys.readouterr().out.splitlines()[-4].startswith("report of runs/")


def test_report_is_made_of_a_violated_run_too_and_its_code_does_not_hide_the_violation(
    faked: None, capsys: Any
) -> None:
    broken = [*ONE_LAW, "--target", "reference+rounds_start", "--law", "ha-start-offset"]
    assert main(broken) == 1
    assert capsys.readouterr().out.splitlines()[-4].startswith("report of runs/")
