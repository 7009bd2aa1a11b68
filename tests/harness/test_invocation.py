"""A printed command works when it is pasted: it names the program that the user ran."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pairproof.harness.texts import invocation


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "a venv" / "bin" / "pairproof"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "check"])
    monkeypatch.setenv("PATH", "/nowhere")
    return program


def test_a_program_that_is_not_on_the_path_is_named_by_its_path(
    started: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert invocation.program() == f"'{started}'"
    monkeypatch.chdir(tmp_path)
    assert invocation.line("replay", tmp_path / "runs" / "0001.json") == "'a venv/bin/pairproof' replay runs/0001.json"


def test_a_program_that_the_shell_finds_keeps_its_short_name(started: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(started.parent))
    assert invocation.program() == "pairproof"


def test_another_program_of_that_name_on_the_path_is_not_taken_for_it(
    started: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "pairproof").write_text("#!/bin/sh\n")
    (other / "pairproof").chmod(0o755)
    monkeypatch.setenv("PATH", str(other))
    assert invocation.program() == f"'{started}'"


def test_as_a_library_it_is_the_command_beside_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["-c"])
    monkeypatch.setenv("PATH", "/nowhere")
    beside = Path(sys.executable).parent / "pairproof"
    assert invocation.program() == (invocation.shown(beside) if beside.is_file() else "pairproof")


def test_a_module_that_the_interpreter_runs_is_named_with_its_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/pairproof/__main__.py", "check"])
    monkeypatch.setattr(sys, "executable", "/a venv/bin/python")
    assert invocation.program() == "'/a venv/bin/python' -m pairproof"
    monkeypatch.setattr(sys, "argv", ["/somewhere/else/__main__.py", "check"])
    assert "-m" not in invocation.program()
