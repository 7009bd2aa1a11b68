"""Scenarios in real processes: as in the simulation, green and not vacuous. On every commit the first case of some, at
night all that need no containers and up to four cases of each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from daily import IN_PROCESSES
from real_labs import holding
from toxiproxies import binary

from pairproof.chaos.scenarios import library
from pairproof.harness.errors import EXIT_UNKNOWN

pytestmark = pytest.mark.slow

CASES = 4
IN_PARTS = "four-deployments"
"""Each of its four cases puts other laws to the test: with one alone some have nothing to judge."""
JOBS = 6
LIMIT_S = 1_700
"""Only against what hangs."""


NEED_CONTAINERS = ["image-replaced", "memory-limit", "network-disconnect"]


def play(runs: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]], list[str]]:
    """``pairproof chaos run`` in the process lab: its exit code, what came of each scenario, and what was left out."""
    runs.mkdir(exist_ok=True)
    found = runs / "summary.json"
    command = [
        str(Path(sys.executable).with_name("pairproof")), "chaos", "run", *arguments, "--lab", "process",
        "--runs", str(runs), "--json", str(found),
    ]  # fmt: skip
    environment = {**os.environ, "PAIRPROOF_TOXIPROXY": str(binary()), "TMPDIR": str(runs)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert found.exists(), done.stderr
    assert not list(runs.glob("pairproof-*/lab-*")), "something of a lab stays"
    said = json.loads(found.read_text())
    left_out = [each["name"] for each in said["left_out"]]
    return done.returncode, {each["name"]: each for each in said["scenarios"]}, left_out


def test_scenarios_hold_for_the_reference(tmp_path: Path) -> None:
    code, found, _ = play(tmp_path / "one", *IN_PROCESSES, "--cases", "1", "--jobs", str(JOBS))
    assert code == (0 if len(holding(found)) == len(IN_PROCESSES) else EXIT_UNKNOWN)
    assert found.keys() == set(IN_PROCESSES)


@pytest.mark.nightly
@pytest.mark.parametrize("cases", [1, CASES])
def test_every_scenario_holds_for_the_reference(cases: int, tmp_path: Path) -> None:
    code, found, left_out = play(tmp_path / "one", "--all", "--cases", str(cases), "--jobs", str(JOBS))
    whole, parts, _ = play(tmp_path / "parts", IN_PARTS, "--jobs", str(CASES))
    assert left_out == NEED_CONTAINERS and {code, whole} <= {0, EXIT_UNKNOWN}
    found |= parts
    assert holding(found)
    assert sorted([*found, *left_out]) == library.names()


def test_a_seeded_bug_is_seen(tmp_path: Path) -> None:
    code, found, _ = play(tmp_path, "one-way-partition", "--cases", "1", "--target", "reference+acks_at_once")
    assert code == 1
    assert found["one-way-partition"]["verdict"] == "violated"
