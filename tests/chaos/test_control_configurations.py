"""The driver of the control with random user configurations: it resumes, and keeps alarms that replay."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

DRIVER = Path(__file__).parents[1] / "control" / "control_configurations.py"


def drive(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DRIVER), "--seed", "drive", "--trials", "4", "--out", str(out), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_reference_raises_no_alarm_and_a_second_call_plays_only_what_is_left(tmp_path: Path) -> None:
    first = drive(tmp_path, "--configurations", "2")
    assert first.returncode == 0 and "with an alarm, by law: none" in first.stdout, first.stderr
    before = {each.name: each.stat().st_mtime_ns for each in tmp_path.iterdir()}
    second = drive(tmp_path, "--configurations", "3")
    assert second.stdout.startswith("3 configurations, ")
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in before} == before
    found = json.loads((tmp_path / "0002.json").read_text())
    assert {"brokerRole", "brokerId"} < found["master"].keys() and found["trials"] > 0


def test_an_alarm_is_kept_with_its_configuration_so_that_replay_shows_it_again(tmp_path: Path) -> None:
    found = drive(tmp_path, "--configurations", "2", "--target", "reference+repeats_frame")
    alarms = sorted(tmp_path.glob("*-ha-appends-frames.json"))
    assert found.returncode == 1 and alarms, found.stdout
    again = [sys.executable, "-m", "pairproof", "replay", str(alarms[0])]
    assert "reproduced: ha-appends-frames" in subprocess.run(again, capture_output=True, text=True, check=False).stdout
