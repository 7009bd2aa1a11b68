"""Lines that a code host shows beside a build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pairproof.reports import annotations, engines, inputs, model
from pairproof.reports.commands.report import command

HOST = {annotations.GITHUB: "true"}


def report_of(*folders: Path) -> model.Report:
    runs, corrupt = inputs.open_runs(folders)
    return model.assemble(runs, corrupt, engines.here(runs).tables)


def test_a_cause_is_one_line_with_its_replay(two_runs: list[Path]) -> None:
    (line, *others) = annotations.lines(report_of(*two_runs), HOST)
    assert line.startswith("::error title=log-prefix is violated by ") and "Replay: " in line and "\n" not in line
    assert len(others) < annotations.MAX_LINES


def test_only_a_host_that_takes_them_gets_any(two_runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert annotations.lines(report_of(*two_runs), {}) == []
    asked = [*map(str, two_runs), "--engine", "local", "--json", "--out", str(two_runs[0].parent / "out")]
    monkeypatch.setenv(annotations.GITHUB, "true")
    done = CliRunner().invoke(command, asked)
    assert "::error title=log-prefix" in done.stderr and "::error" not in done.stdout


def test_what_would_end_a_line_or_a_title_is_escaped(write_run: Any, rows: Any) -> None:
    broken = {**rows.verdict(0, "log-prefix", "violated", seq=1), "text": "100 %\nof it"}
    (line,) = annotations.lines(report_of(write_run("r", verdicts=[broken], trials=[rows.trial(0)])), HOST)
    assert "100 %25%0Aof it" in line
    assert annotations._command("error", "a: b, c", "d").startswith("::error title=a%3A b%2C c::")


def test_doubts_and_damage_are_warnings(write_run: Any, rows: Any) -> None:
    doubted, damaged = write_run("doubted", verdicts=[rows.verdict(0, "log-prefix", "unknown")]), write_run("damaged")
    (damaged / "run.json").write_text("{")
    told = annotations.lines(report_of(doubted, damaged), HOST)
    assert [line.split(" ")[0] for line in told] == ["::warning", "::warning"]
