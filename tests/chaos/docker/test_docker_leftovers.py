"""Whatever ends a lab of containers, nothing of it stays, or `pairproof labs clean` finds it; labs that live go on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import real_labs
from docker_labs import CLI_OF_OWN_VIEW, in_engine
from real_labs import SIGNALS, ended, gone, left, opened, started, until

from pairproof.chaos.labs.docker.engine import Engine
from pairproof.chaos.labs.docker.lab import DockerLab
from pairproof.harness.runs.reader import RunReader

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_engine")]

SUPERVISOR = "pairproof.chaos.labs.real.supervisor"
LIMIT_S = 300


def children(pid: int) -> list[int]:
    """Processes whose parent this is."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def keepers(pid: int) -> list[int]:
    return [each for each in children(pid) if SUPERVISOR in Path(f"/proc/{each}/cmdline").read_text()]


@pytest.mark.parametrize("how", SIGNALS)
def test_a_command_that_is_ended_leaves_a_readable_run_and_nothing_else(
    how: str, labs_folder: Path, tmp_path: Path, engine: Engine
) -> None:
    command = started(labs_folder, tmp_path / "runs", "docker")
    kept = keepers(command.pid)
    assert len(in_engine(engine, labs_folder)) >= 5 and len(kept) == 1
    ended(command, SIGNALS[how])
    until(lambda: left(labs_folder) == [] and in_engine(engine, labs_folder) == [] and all(map(gone, kept)))
    (run,) = (tmp_path / "runs").iterdir()
    RunReader(run).check()


def test_what_harness_and_keeper_left_is_cleaned_and_told_while_another_lab_lives(
    labs_folder: Path, tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_labs, "CLI", CLI_OF_OWN_VIEW)
    living = DockerLab()
    session = opened(living)
    theirs = in_engine(engine, labs_folder)
    command = started(labs_folder, tmp_path / "runs", "docker")
    for pid in [*keepers(command.pid), command.pid]:
        os.kill(pid, signal.SIGKILL)
    command.communicate(timeout=LIMIT_S)
    dead = sorted(set(in_engine(engine, labs_folder)) - set(theirs))
    assert len(dead) >= 5 and len(list(labs_folder.glob("*/lab-*"))) == 2
    environ = {**os.environ, "TMPDIR": str(labs_folder)}
    clean = [sys.executable, "-c", CLI_OF_OWN_VIEW, "labs", "clean"]
    done = subprocess.run(clean, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert sorted(re.findall("docker: removed (\\S+ \\S+) of lab", done.stdout)) == dead
    assert "removed the remains of an earlier lab" in done.stdout
    assert sorted(in_engine(engine, labs_folder)) == sorted(theirs)
    session.settle()
    living.close()
    assert left(labs_folder) == [] and in_engine(engine, labs_folder) == []
    done = subprocess.run(clean, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert done.stdout == "nothing was left behind\n"
