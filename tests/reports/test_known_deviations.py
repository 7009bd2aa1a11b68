"""A run that shows known deviations only, as the judge and every form of the report tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.errors import EXIT_HOLDS, EXIT_VIOLATED
from pairproof.harness.judging import deviations
from pairproof.reports import engines, inputs, junit, model, summary

MODEL = "rocketmq-4.9.7@model"
ID = "silent-master-kept"
LAW = "ha-housekeeping"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the scenario in which a master falls silent, in the model of a version whose slaves do not mind."""
    runs = tmp_path_factory.mktemp("runs")
    asked = ["chaos", "run", "one-way-partition", "--target", MODEL, "--seed", "1", "--runs", str(runs)]
    assert main([*asked, "--json", str(runs / "answer.json")]) == EXIT_HOLDS
    return next(each for each in runs.iterdir() if each.is_dir())


def report(*folders: Path) -> Any:
    runs, corrupt = inputs.open_runs(list(folders))
    return model.assemble(runs, corrupt, engines.here(runs).tables)


def test_the_run_s_facts_and_the_answer_name_what_is_known(run: Path) -> None:
    (row,) = json.loads((run / "run.json").read_text())["deviations"]
    assert (row["id"], row["laws"], row["findings"]) == (ID, [LAW], 1)
    answer = json.loads((run.parent / "answer.json").read_text())
    assert answer["deviations"] == [row] and answer["violated"] == []


def test_kept_histories_judged_again_show_the_same(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", str(run)]) == EXIT_HOLDS
    assert f"known deviation: {ID}: " in capsys.readouterr().out


def test_the_same_history_of_another_target_is_a_violation(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads((run / "run.json").read_text())
    before = (run / "run.json").read_text()
    try:
        (run / "run.json").write_text(json.dumps(facts | {"target": "reference"}))
        assert main(["judge", str(run)]) == EXIT_VIOLATED
    finally:
        (run / "run.json").write_text(before)
    assert "known deviation" not in capsys.readouterr().out


def test_the_report_holds_and_says_but_for_what(run: Path) -> None:
    made = report(run)
    assert made.verdict == "holds"
    assert "every one holds, but for known deviations from 1" in made.headline
    assert made.rejudged["different"] == 0
    text = summary.text(made)
    assert f"- known deviation: {ID}: a slave never drops" in text
    assert "🟡 known-deviation" in text


def test_in_junit_a_known_deviation_is_a_case_that_passes_and_says_what_it_is(run: Path, tmp_path: Path) -> None:
    junit.write(report(run), tmp_path / "junit.xml")
    cases = {each.get("name"): each for each in ElementTree.parse(tmp_path / "junit.xml").getroot().iter("testcase")}
    for name, said in (
        (f"known deviation: {ID}", "apache/rocketmq PR 1083"),
        (LAW, "known deviations only, in 1 of 2"),
    ):
        assert [child.tag for child in cases[name]] == ["system-out"]
        assert said in str(cases[name].findtext("system-out"))


def test_a_new_violation_beside_it_stays_red(run: Path, tmp_path: Path) -> None:
    asked = ["chaos", "run", "one-way-partition", "--target", f"{MODEL}+acks_at_once", "--seed", "1"]
    assert main([*asked, "--runs", str(tmp_path)]) == EXIT_VIOLATED
    made = report(next(tmp_path.iterdir()))
    assert made.verdict == "violated"
    assert deviations.find(ID).id in summary.text(made)
