"""The sample repository of a broker team: its build is green, and red for the bug that it once had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2] / "examples" / "broker_team"
WORKFLOW: dict[str, Any] = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "pair.yml").read_text())
LIMIT_S = 300


def build(job: str, folder: Path, *more: str) -> tuple[int, str]:
    """What the job's steps come to, but for the set-up, which the environment of the tests is."""
    (command,) = [
        step["run"] for step in WORKFLOW["jobs"][job]["steps"] if step.get("run", "").startswith("pairproof check")
    ]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        f"{command} {' '.join(more)}", shell=True, cwd=folder, env=environment, capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = Path(shutil.copytree(REPOSITORY, tmp_path / "repository"))
    # The build has no Spark, the environment of the tests has.
    with (made / "pairproof.toml").open("a", encoding="utf-8") as file:
        file.write('report-engine = "local"\n')
    return made


@pytest.mark.slow
@pytest.mark.timeout(LIMIT_S)
def test_the_team_s_build_is_green(repository: Path) -> None:
    code, said = build("model", repository)
    assert code == 0, said
    assert (
        "1 FIXED" in said
        and "1,000 trials + 18 of losses after it" in said
        and "the lab replaces brokerClusterName" in said
    )
    (run,) = (repository / "runs").iterdir()
    assert (run / "report" / "index.html").is_file() and (repository / "junit.xml").is_file()


def test_what_is_known_of_its_version_makes_it_red_unless_the_team_accepts_it(repository: Path) -> None:
    code, said = build("model", repository, "--trials 1 --known-deviations fail")
    assert code == 1
    assert "rocketmq-4.9.7@model in sim: known-deviation; After the master lost the end of its log, a slave" in said
    assert build("model", repository, "--trials 1")[0] == 0


def test_it_is_red_for_the_bug_that_the_team_once_had(repository: Path) -> None:
    code, said = build("model", repository, "--target reference+repeats_frame --trials 1 --first")
    assert code == 1 and "REPRODUCED" in said


def test_the_nightly_job_plays_real_brokers_with_the_same_files() -> None:
    (command,) = [
        step["run"]
        for step in WORKFLOW["jobs"]["brokers"]["steps"]
        if step.get("run", "").startswith("pairproof check")
    ]
    assert "--lab process --target rocketmq-4.9.7 " in command
