"""A source distribution installs in an empty environment of each Python that is here, and plays the same trials."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from run_digest import digest_of
from source_copy import copied, distribution

CHECK = ("-m", "pairproof", "check", "--trials", "40", "--seed", "everywhere", "--jobs", "1", "--runs")
LIMIT_S = 600


def version(python: Path) -> tuple[int, int] | None:
    """None: it cannot make an environment, or is none."""
    code = "import ensurepip, sys, venv; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        return None
    major, minor = map(int, done.stdout.split())
    return major, minor


def others() -> dict[str, Path]:
    """By version from 3.11 on, but for this one, a Python of PATH or of pyenv."""
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, timeout=60, check=False).stdout.strip()
        folders += sorted(Path(root).glob("versions/3.*/bin"))
    found: dict[str, Path] = {}
    for minor in range(11, 20):
        for folder in folders:
            python = folder / f"python3.{minor}"
            if minor != sys.version_info.minor and os.access(python, os.X_OK) and version(python) == (3, minor):
                found.setdefault(f"3.{minor}", python)
    return found


def run(*command: str | Path, cwd: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
@pytest.mark.timeout(2 * LIMIT_S)
def test_each_python_that_is_here_plays_the_same_trials(tmp_path: Path) -> None:
    found = others()
    if not found:
        pytest.skip("there is one Python from 3.11 on here; others can be installed with pyenv")
    archive = distribution(copied(tmp_path / "source"), tmp_path)
    run(sys.executable, *CHECK, tmp_path / "here", cwd=tmp_path)
    (here,) = (tmp_path / "here").iterdir()
    for name, python in found.items():
        home = tmp_path / name
        run(python, "-m", "venv", home, cwd=tmp_path)
        run(home / "bin" / "pip", "install", "--quiet", archive, cwd=tmp_path)
        run(home / "bin" / "python", *CHECK, home / "runs", cwd=tmp_path)
        (there,) = (home / "runs").iterdir()
        assert digest_of(there) == digest_of(here), name
