"""What a run came to, on the terminal and as JUnit XML, without a report; and JUnit straight from check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from pairproof.harness.commands.main import main

ASKED = ["--target", "reference+answers_before_flush", "--seed", "s", "--law", "ack-flushed", "--law", "log-prefix"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    asked = [*ASKED, "--jobs", "1", "--trials", "20", "--runs", str(folder / "runs")]
    assert main(["check", *asked, "--junit", str(folder / "junit.xml")]) == 1
    return folder


def cases(file: Path) -> dict[str, int]:
    return {case.name: len(case.result) for suite in JUnitXml.fromfile(str(file)) for case in suite}


def test_check_writes_junit_itself(runs: Path) -> None:
    told = cases(runs / "junit.xml")
    assert (told["ack-flushed"], told["log-prefix"]) == (1, 0)


def test_a_run_is_shown_on_the_terminal(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = (runs / "runs").iterdir()
    assert main(["show", str(run)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{run.name}: violated (reference+answers_before_flush in sim, ")
    assert "\n ack-flushed " in said and "log-prefix" not in said and "log and storage: 1 of 1 holds\n" in said
    assert "violated: ack-flushed: m0 was acknowledged" in said and f"replay {run}/findings/0001.json" in said
    assert said.rstrip().endswith(": 1 of 2 laws is violated.")
    assert main(["show", str(run), "--summary", "full"]) == 1
    said = capsys.readouterr().out
    assert said.index("\n ack-flushed ") < said.index("\n log-prefix ")


def test_files_are_written_in_its_place(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / name for name in ("junit", "markdown", "json")}
    asked = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    # A folder of runs stands for all of them.
    assert main(["show", str(runs / "runs"), *asked]) == 1
    assert capsys.readouterr().out == ""
    assert cases(files["junit"]) == cases(runs / "junit.xml")
    assert files["markdown"].read_text().startswith("## ")
    assert json.loads(files["json"].read_text())["verdict"] == "violated"


def test_a_run_that_did_not_come_to_its_end_says_why_it_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--law", "log-prefix", "--jobs", "1", "--trials", "1", "--runs", str(tmp_path)]) == 0
    (run,) = tmp_path.iterdir()
    assert main(["show", str(run)]) == 0
    assert "Not complete" not in capsys.readouterr().out
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**facts, "state": "interrupted"}))
    assert main(["show", str(run)]) == 3
    said = capsys.readouterr().out.rstrip()
    assert "\nInterrupted after 41 trials: 1 of 1 law could be judged in 41 trials, and each of them holds." in said


def test_what_cannot_be_read_is_named(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    assert main(["show", str(tmp_path / "broken")]) == 3
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"pairproof: nothing to report: {tmp_path / 'broken' / 'run.json'}")
    assert main(["show", str(tmp_path / "none")]) == 2
