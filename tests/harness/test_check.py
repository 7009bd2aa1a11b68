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

import pytest

from pairproof.harness.runs.reader import RunReader

PAIRPROOF = [str(Path(sys.executable).parent / "pairproof")]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PAIRPROOF, *arguments], capture_output=True, text=True, cwd=folder, timeout=120)


def only_run(folder: Path) -> Path:
    (found,) = [each for each in (folder / "runs").iterdir() if each.is_dir() and not each.is_symlink()]
    return found


def test_clean_target_exits_0_and_leaves_a_complete_run(tmp_path: Path) -> None:
    done = run(tmp_path, "check", "--time", "4s", "--seed", "s", "--json", "answer.json")
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    reader = RunReader(only_run(tmp_path))
    assert answer["state"] == reader.facts["state"] == "complete"
    assert answer["trials"] == reader.facts["trials"] == len(list(reader.trials()))
    assert set(answer["laws"].values()) == {"holds"}


def test_broken_target_exits_1_and_its_replay_line_reproduces(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "check",
        "--target",
        "reference+rounds_start",
        "--time",
        "2s",
        "--seed",
        "s",
        "--law",
        "ha-start-offset",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    line = next(each for each in done.stdout.splitlines() if "replay: " in each).partition("replay: ")[2]
    assert line.startswith("pairproof replay ")
    again = run(tmp_path, *line.split()[1:])
    assert again.returncode == 1 and "ha-start-offset" in again.stdout
    cured = run(tmp_path, *line.split()[1:], "--target", "reference")
    assert cured.returncode == 0, cured.stdout + cured.stderr


def test_law_that_nothing_exercised_exits_3(tmp_path: Path) -> None:
    # One trial of each search: with this seed nobody claims more than the master has.
    done = run(tmp_path, "check", "--time", "0.01s", "--seed", "s", "--law", "ha-ack-identity", "--json", "-")
    assert json.loads(done.stdout)["laws"] == {"ha-ack-identity": "vacuous"} and done.returncode == 3
    longer = run(tmp_path, "check", "--time", "2s", "--seed", "s", "--law", "ha-ack-identity")
    assert longer.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--lab", "moon"], "unknown lab 'moon'; valid: sim"),
        (["--target", "nobody"], "unknown target 'nobody'; valid: reference"),
        (["--profile", "eternal"], "unknown profile 'eternal'; valid: quick, ci"),
        (["--law", "gravity"], "unknown law 'gravity'; valid: ack-replicated"),
        (["--time", "soon"], "--time wants a number with s, m or h"),
        (["--time", "0s"], "--time must be above 0"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    done = run(tmp_path, "check", *arguments)
    assert done.returncode == 2 and complaint in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("how", "state"), [(signal.SIGINT, "interrupted"), (signal.SIGKILL, "running")])
def test_run_that_is_ended_at_any_moment_can_be_read(tmp_path: Path, how: signal.Signals, state: str) -> None:
    environment: dict[str, Any] = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [*PAIRPROOF, "check", "--time", "60s", "--seed", "s"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        until = time.monotonic() + 60
        while not list(tmp_path.glob("runs/*/verdicts/part-*.parquet")):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(how)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    reader = RunReader(only_run(tmp_path))
    trials = len(list(reader.trials()))
    assert reader.facts["state"] == state and trials > 0
    if how is signal.SIGINT:
        assert process.returncode == 130 and "Traceback" not in said
        assert reader.facts["trials"] == trials
