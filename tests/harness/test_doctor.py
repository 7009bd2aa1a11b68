"""What is ready here: machine, packages, tools, and labs, each of which plays a trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness import registry
from pairproof.harness.commands import doctor
from pairproof.harness.commands.main import main
from pairproof.harness.texts import extras
from pairproof.harness.trials import resolve


def told(tmp_path: Path, *asked: str) -> tuple[int, dict[tuple[str, str], dict[str, Any]]]:
    file = tmp_path / "doctor.json"
    code = main(["doctor", *asked, "--json", str(file)])
    return code, {(row["kind"], row["name"]): row for row in json.loads(file.read_text())}


def test_a_lab_that_has_played_a_trial_is_ready(tmp_path: Path) -> None:
    code, rows = told(tmp_path, "--lab", "sim")
    assert code == 0
    assert rows["lab", "sim"]["state"] == "ready" and "played a trial of reference in" in rows["lab", "sim"]["about"]
    # Of the rest only what every lab needs.
    assert {kind for kind, _ in rows} == {"machine", "disk", "lab"}


@pytest.mark.parametrize(
    ("error", "says"),
    [(extras.Lacking("run pip"), "run pip"), (RuntimeError("a\nbug"), "unexpected RuntimeError: a bug")],
)
def test_a_lab_that_plays_none_is_missing_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    def fails(name: str) -> Any:
        raise error

    monkeypatch.setattr(resolve, "lab", fails)
    code, rows = told(tmp_path, "--lab", "sim")
    assert code == 3 and (rows["lab", "sim"]["state"], rows["lab", "sim"]["about"]) == ("missing", says)


def test_what_is_short_or_not_installed_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only = {"labs": ["sim"], "tools": ["java"]}
    names = registry.names
    monkeypatch.setattr(registry, "names", lambda group: only.get(group) or names(group))
    monkeypatch.setattr(doctor, "LEAST_MEMORY", 1 << 60)
    monkeypatch.setattr(extras, "find_spec", lambda module: None if module == "docker" else object())
    code, rows = told(tmp_path)
    assert code == 3
    assert rows["machine", "memory"]["state"] == "missing" and "--jobs 1" in rows["machine", "memory"]["about"]
    assert "pip install docker" in rows["package", "docker"]["about"]
    assert rows["package", "pyspark"]["state"] == "ready" and ("tool", "java") in rows
    assert "not ready: machine memory, package docker" in capsys.readouterr().out


def test_a_lab_that_nobody_knows_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--lab", "smi"]) == 2
    assert "unknown lab 'smi'; did you mean 'sim'?" in capsys.readouterr().err
