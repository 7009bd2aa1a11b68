"""The driver of the long control runs: it resumes, divides its trials, and keeps alarms that replay."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).parents[1] / "control" / "control_runs.py"


def drive(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DRIVER), "--seed", "drive", "--out", str(out), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def counts(out: Path, part: str = "1-of-1") -> dict[str, object]:
    found = json.loads((out / f"counts-{part}.json").read_text())
    assert isinstance(found, dict)
    return found


def test_the_reference_raises_no_alarm_and_a_second_call_plays_only_what_is_left(tmp_path: Path) -> None:
    first = drive(tmp_path, "--plain", "3", "--cluster", "1", "--restart-churn", "1")
    assert first.returncode == 0 and "alarms: none" in first.stdout, first.stderr
    second = drive(tmp_path, "--plain", "5", "--cluster", "1", "--restart-churn", "1")
    assert "so far, part 1/1: 3 plain, 1 cluster, 1 restart-churn" in second.stdout
    assert counts(tmp_path)["done"] == {"plain": 5, "cluster": 1, "restart-churn": 1}


def test_parts_are_all_of_it_and_none_twice(tmp_path: Path) -> None:
    for part in ("1/2", "2/2"):
        assert drive(tmp_path, "--plain", "5", "--part", part).returncode == 0
    halves: list[Any] = [counts(tmp_path, f"{number}-of-2")["done"] for number in (1, 2)]
    assert [each["plain"] for each in halves] == [3, 2]
    assert drive(tmp_path, "--part", "3/2").returncode == 2


def test_an_alarm_is_kept_so_that_replay_shows_it_again(tmp_path: Path) -> None:
    found = drive(tmp_path, "--plain", "20", "--target", "reference+acks_at_once")
    alarms = sorted(tmp_path.glob("alarm-plain-*-ack-replicated.json"))
    assert found.returncode == 1 and alarms
    again = [str(Path(sys.executable).with_name("pairproof")), "replay", str(alarms[0])]
    assert "reproduced: ack-replicated" in subprocess.run(again, capture_output=True, text=True, check=False).stdout


def test_counts_of_other_trials_are_not_gone_on_with(tmp_path: Path) -> None:
    assert drive(tmp_path, "--plain", "1").returncode == 0
    other = drive(tmp_path, "--plain", "1", "--target", "reference+acks_at_once")
    assert other.returncode == 2 and "belongs to other trials" in other.stderr
