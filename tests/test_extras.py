"""The package without its extras: a verdict, a report and one line with a remedy for what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from pairproof.harness.texts import extras

ROOT = Path(__file__).resolve().parent.parent
EXTRA = ("docker", "pyspark", "py4j", "pytest", "_pytest")
LIMIT_S = 300


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with all that this one has, but for what extras bring."""
    made = tmp_path_factory.mktemp("bare")
    venv.create(made)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(made), "platbase": str(made)}))
    ours = Path(sysconfig.get_path("purelib"))
    for each in ours.iterdir():
        if each.name.partition("-")[0].partition(".")[0] not in EXTRA:
            (packages / each.name).symlink_to(each)
    return made / "bin" / "python"


def pairproof(bare: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    line = [str(bare), "-m", "pairproof", *arguments]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)


@pytest.mark.slow
def test_a_verdict_and_a_report_need_none(bare: Path, tmp_path: Path) -> None:
    assert subprocess.run([bare, "-c", "import docker"], capture_output=True, check=False).returncode == 1
    done = pairproof(bare, tmp_path, "check", "--trials", "60", "--seed", "s", "--report")
    assert done.returncode == 0, done.stderr
    assert "counted without Spark: the package pyspark is not installed: run pip install pyspark" in done.stderr
    listed = pairproof(bare, tmp_path, "labs")
    assert listed.returncode == 0 and "pipinstalldocker" in "".join(listed.stdout.split()), listed.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "package"), [("check --lab docker --trials 1", "docker"), ("campaign --trials 10", "pyspark")]
)
def test_what_an_extra_brings_is_named_where_it_is_wanted(bare: Path, tmp_path: Path, asked: str, package: str) -> None:
    done = pairproof(bare, tmp_path, *asked.split())
    assert done.returncode == 4 and done.stderr.count("pip install") == 1
    assert f"run pip install {package}" in done.stderr and "Traceback" not in done.stderr


def test_another_module_that_is_missing_is_an_error_as_before() -> None:
    with pytest.raises(ModuleNotFoundError), extras.reported():
        raise ModuleNotFoundError("No module named 'mine'", name="mine")
    assert sys.modules  # The interpreter of the tests has all of them:
    for module in ("docker", "pyspark", "pytest"):
        extras.check(module)
