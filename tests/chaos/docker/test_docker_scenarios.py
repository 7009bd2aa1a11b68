"""Scenarios in containers, several labs side by side: between them most abilities; as in the other labs, green."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from daily import IN_CONTAINERS as PLAYED
from docker_labs import in_engine
from real_labs import CLI, holding, left

from pairproof.chaos.labs.docker.engine import Engine
from pairproof.harness.errors import EXIT_UNKNOWN

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_engine")]

JOBS = 4


def test_scenarios_hold_for_the_reference_in_labs_side_by_side(
    tmp_path: Path, labs_folder: Path, engine: Engine
) -> None:
    found = tmp_path / "summary.json"
    command = [
        sys.executable, "-c", CLI, "chaos", "run", *PLAYED, "--lab", "docker", "--cases", "1", "--jobs", str(JOBS),
        "--runs", str(tmp_path / "runs"), "--json", str(found),
    ]  # fmt: skip
    networks = 0
    with (tmp_path / "said").open("w+") as said:
        process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(labs_folder)}, stdout=said, stderr=said)
        while process.poll() is None:
            networks = max(networks, sum(each.startswith("network") for each in in_engine(engine, labs_folder)))
            time.sleep(0.2)
    assert found.exists(), (tmp_path / "said").read_text()
    scenarios = {each["name"]: each for each in json.loads(found.read_text())["scenarios"]}
    assert set(scenarios) == set(PLAYED)
    assert process.returncode == (0 if len(holding(scenarios)) == len(PLAYED) else EXIT_UNKNOWN)
    assert networks == JOBS, "each lab has a network of its own"
    assert left(labs_folder) == [] and in_engine(engine, labs_folder) == []
