"""Machines on which labs cannot stand say so in one line, exit code 4; without root one stands, with plain folders."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from docker_labs import in_engine
from engine_door import EngineDoor
from fake_engine import FakeEngine
from real_labs import CLI, LONG, left

from pairproof.chaos.labs.docker import engine as engines
from pairproof.chaos.labs.docker.engine import Engine
from pairproof.chaos.labs.real import folders
from pairproof.harness.commands.main import main

pytestmark = pytest.mark.slow

LIMIT_S = 300
NOBODY = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups")
MAY_READ = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
"""Python, or a test's folder, may be in root's home."""
TRIAL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from real_labs import play, sends, violated
from pairproof.chaos.labs.docker.lab import LAB
from pairproof.harness.trials.schedule import Op
ops = sends(5)
for fault in ("power_loss", "disk_full", "disconnect"):
    ops += [Op("fault", {"name": fault, "node": "slave"}), *sends(5), Op("advance", {"ms": 300}),
            Op("heal", {"name": fault}), *sends(1), Op("await", {"what": "replicated", "count": 1, "ms": 6_000})]
trial = play(LAB, ops)
LAB.close()
print(json.dumps([violated(trial), trial.skipped, {each.name: each.effect for each in trial.faults}]))
"""


def refused(runs: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The line with which a command ends, code 4, that wants a lab."""
    code = main(["chaos", "run", LONG, "--lab", "docker", "--runs", str(runs)])
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert code == 4 and line.startswith("pairproof: "), line
    return line


def test_without_an_engine(
    labs_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    assert "start one, or set DOCKER_HOST" in refused(tmp_path / "runs", capsys)
    assert left(labs_folder) == []


def test_without_images(
    labs_folder: Path, tmp_path: Path, fake: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = {"containers/json": [], "networks": [], "volumes": {"Volumes": None}}
    fake.answers |= {f"GET /{what}": (200, answer) for what, answer in empty.items()}
    assert "run: pairproof labs install images" in refused(tmp_path / "runs", capsys)
    assert left(labs_folder) == []


def test_without_a_network(
    labs_folder: Path,
    tmp_path: Path,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lab, lock = folders.new_folder()
    # All that there are is taken by a lab that lives.
    taken = engine.network(lab)
    try:
        monkeypatch.setattr(engines, "POOLS", (str(taken.subnet),))
        line = refused(tmp_path / "a", capsys)
        assert "routes of this machine lead to all of them; remove some, or: pairproof labs clean" in line
        monkeypatch.setattr(engines, "ROUTES", Path(os.devnull))
        line = refused(tmp_path / "b", capsys)
        assert "no network for a lab in" in line and "overlaps" in line, line
    finally:
        taken.remove()
        os.close(lock)
    folders.clean()
    assert left(labs_folder) == [] and in_engine(engine, labs_folder) == []


@pytest.fixture
def as_nobody(labs_folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python as nobody."""
    if os.geteuid() or shutil.which("setpriv") is None:
        pytest.skip("only root can be nobody, with setpriv")
    os.chown(labs_folder, pwd.getpwnam("nobody").pw_uid, -1)

    def run(program: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*NOBODY, *MAY_READ, sys.executable, "-c", program, *arguments], cwd="/", capture_output=True, text=True,
            env={**os.environ, "HOME": str(labs_folder), "TMPDIR": str(labs_folder), **environ}, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip

    return run


@pytest.mark.usefixtures("needs_engine")
def test_without_permission(as_nobody: Callable[..., subprocess.CompletedProcess[str]], labs_folder: Path) -> None:
    runs = str(labs_folder / "runs")
    done = as_nobody(CLI, "chaos", "run", LONG, "--lab", "docker", "--runs", runs)
    assert done.returncode == 4 and "Traceback" not in done.stderr
    assert "no permission for the Docker engine at" in done.stderr.strip().splitlines()[-1]
    assert left(labs_folder) == []


@pytest.mark.usefixtures("needs_engine")
def test_without_root_stores_are_folders_and_all_else_is_real(
    as_nobody: Callable[..., subprocess.CompletedProcess[str]], labs_folder: Path, tmp_path: Path, engine: Engine
) -> None:
    with EngineDoor(tmp_path / "door.sock") as door:
        done = as_nobody(TRIAL, str(Path(__file__).parents[1]), DOCKER_HOST=door.host)
    assert done.returncode == 0, done.stderr
    bad, (skipped,), effects = json.loads(done.stdout)
    assert not bad
    assert skipped == (
        "disk_full: a full disk needs a separate disk for each store: only root can mount a disk that containers see"
    )
    assert effects["power_loss"]["log_tails_cut"] == 1 and effects["disconnect"]["bytes_held"] > 0
    assert left(labs_folder) == [] and in_engine(engine, labs_folder) == []
