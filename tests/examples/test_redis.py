"""The example of a second system: a package outside the rooms that plays real Redis in our labs.

It is installed into a folder of its own, as a third party's would be beside pairproof.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pairproof.chaos.toxiproxy.install import TOOL
from pairproof.harness import registry

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "redis"
LIMIT_S = 600

needs_library = pytest.mark.skipif(
    importlib.util.find_spec("redis") is None,
    reason="NO REDIS IS TESTED: there is no package redis here; make installs it",
)
needs_server = pytest.mark.skipif(
    shutil.which("redis-server") is None,
    reason="NO REDIS IS TESTED: there is no redis-server here; make test installs it",
)


@pytest.fixture
def toxiproxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is; built if it is nowhere. Trials are played in folders that have no tools."""
    monkeypatch.setenv("PAIRPROOF_TOXIPROXY", str(TOOL.install()))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and its entry points; a copy is built, since building leaves files behind."""
    folder = tmp_path_factory.mktemp("example")
    copy, into = folder / "redis", folder / "installed"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build", ".*"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    told(*command, "--target", into, copy, installed=into)
    return into


def told(*command: str | Path, installed: Path, cwd: Path | None = None) -> str:
    """What a command says where the example is installed; it must end well."""
    known = os.pathsep.join((str(installed), str(ROOT), str(ROOT / "tests")))
    environ = {**os.environ, "PYTHONPATH": known, registry.PLUGINS: "pairproof-redis"}
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pairproof(*arguments: str | Path, installed: Path, cwd: Path) -> str:
    return told(sys.executable, "-m", "pairproof", *arguments, installed=installed, cwd=cwd)


def test_it_is_as_small_as_it_says() -> None:
    lines = [line for path in (EXAMPLE / "pairproof_redis").glob("*.py") for line in path.read_text().splitlines()]
    code = [line for line in lines if line.strip()]
    assert len(code) <= 420, "examples/redis/README.md says how small it is"


def test_no_room_of_ours_knows_it() -> None:
    rooms = ("chaos", "harness", "reference", "reports")
    named = [path for room in rooms for path in (ROOT / room).rglob("*.py") if "redis" in path.read_text().lower()]
    assert named == []


@pytest.mark.slow
@needs_library
def test_it_passes_mypy_strict_and_its_own_tests(installed: Path) -> None:
    mypy = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", installed / ".mypy"]
    told(*mypy, "-p", "pairproof_redis", installed=installed, cwd=installed)
    tests = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", EXAMPLE / "tests"]
    assert " passed" in told(*tests, installed=installed, cwd=installed)


@pytest.mark.slow
@needs_library
@needs_server
@pytest.mark.usefixtures("toxiproxy")
def test_a_few_trials_of_redis_are_played_judged_and_reported(installed: Path, tmp_path: Path) -> None:
    asked = ("--lab", "process", "--target", "redis", "--trials", "4", "--seed", "ci", "--runs", tmp_path)
    said = pairproof("check", *asked, installed=installed, cwd=tmp_path)
    assert "any system: " in said and "redis in process: holds; " in said
    (run,) = tmp_path.glob("*-process-redis")
    pairproof("report", run, "--out", tmp_path / "report", installed=installed, cwd=tmp_path)
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.slow
@needs_library
@needs_server
@pytest.mark.usefixtures("toxiproxy")
@pytest.mark.parametrize("name", ["redis-promotion", "redis-everysec-kill"])
def test_a_scenario_of_redis_holds(name: str, installed: Path, tmp_path: Path) -> None:
    asked = ("--lab", "process", "--target", "redis", "--runs", tmp_path, "--json")
    said = json.loads(pairproof("chaos", "run", name, *asked, installed=installed, cwd=tmp_path))
    assert [each["verdict"] for each in said["scenarios"]] == ["holds"]


@pytest.mark.slow
@needs_library
@pytest.mark.usefixtures("needs_engine")
def test_redis_runs_in_containers(installed: Path, tmp_path: Path) -> None:
    asked = ("--lab", "docker", "--target", "redis", "--trials", "1", "--seed", "ci", "--runs", tmp_path)
    assert "redis in docker: " in pairproof("check", *asked, installed=installed, cwd=tmp_path)
