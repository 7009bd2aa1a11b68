"""Findings that are kept as cases, and what becomes of them when they are played again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from pairproof.harness.commands import closing, replay, suite
from pairproof.harness.commands.main import main
from pairproof.harness.errors import LabError
from pairproof.reports import known_cases

ASKED = ["--target", "reference+answers_before_flush", "--seed", "s", "--law", "ack-flushed", "--jobs", "1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    assert main(["check", *ASKED, "--trials", "40", "--runs", str(runs)]) == 1
    (folder,) = runs.iterdir()
    return folder


@pytest.fixture
def cases(run: Path, tmp_path: Path) -> Path:
    assert main(["cases", "add", str(run / "findings" / "0001.json"), "--folder", str(tmp_path / "cases")]) == 0
    return tmp_path / "cases"


def told(tmp_path: Path, *asked: str) -> tuple[int, list[dict[str, Any]]]:
    file = tmp_path / "told.json"
    code = main(["replay", *asked, "--json", str(file)])
    return code, json.loads(file.read_text())


def test_a_case_is_reproduced_and_of_the_correct_target_fixed(cases: Path, tmp_path: Path) -> None:
    code, (row,) = told(tmp_path, str(cases))
    assert code == 1 and (row["verdict"], row["showed"], row["executed"]) == ("REPRODUCED", 1, 1)
    code, (row,) = told(tmp_path, str(cases), "--target", "reference")
    assert code == 0 and (row["verdict"], row["showed"]) == ("FIXED", 0)


def test_the_same_finding_is_one_case(run: Path, cases: Path) -> None:
    (before,) = cases.iterdir()
    text = before.read_text()
    assert main(["cases", "add", str(run / "findings" / "0001.json"), "--folder", str(cases)]) == 0
    # And a case is a finding, which may be added itself.
    assert main(["cases", "add", str(before), "--folder", str(cases)]) == 0
    assert [each.read_text() for each in cases.iterdir()] == [text]
    assert str(run) not in text


@pytest.mark.parametrize(
    ("shows", "fails", "verdict", "code"),
    [
        ([True, False, True], False, "FLAKY", 1), ([True, True], False, "REPRODUCED", 1),
        ([False, False], False, "FIXED", 0), ([], True, "FAILED", 4), ([False], True, "FAILED", 4),
        ([True], True, "REPRODUCED", 1),
    ],
)  # fmt: skip
def test_executions_may_differ(
    cases: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shows: list[bool],
    fails: bool,
    verdict: str,
    code: int,
) -> None:
    execute = replay.execute

    def some(case: Any, lab: Any, target: Any, times: int) -> Any:
        (bad,), _ = execute(case, lab, target, 1)
        (good,), _ = execute(case, lab, replay.resolved(case._replace(target="reference"))[1], 1)
        return [bad if each else good for each in shows], LabError("no power") if fails else None

    monkeypatch.setattr(replay, "execute", some)
    ended, (row,) = told(tmp_path, str(cases))
    assert (ended, row["verdict"], row["showed"], row["executed"]) == (code, verdict, sum(shows), len(shows))


def test_a_law_that_had_nothing_to_judge_says_nothing(cases: Path, tmp_path: Path) -> None:
    (case,) = cases.iterdir()
    found = json.loads(case.read_text())
    found["schedule"]["settings"]["flushDiskType"] = "ASYNC_FLUSH"
    case.write_text(json.dumps(found))
    code, (row,) = told(tmp_path, str(cases))
    assert (code, row["verdict"], row["about"]) == (3, "UNKNOWN", "not-applicable")


def test_all_findings_of_a_run_are_played_and_their_replays_kept(run: Path, tmp_path: Path) -> None:
    code, rows = told(tmp_path, str(run))
    assert code == 1 and len(rows) == len(list((run / "findings").iterdir()))
    assert (run / "replays" / "0001.json").is_file()


def test_what_is_no_case_is_named_and_the_others_are_played(cases: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["replay", str(tmp_path / "empty")]) == 2
    assert "holds no case (*.json); add some with pairproof cases add" in capsys.readouterr().err
    (case,) = cases.iterdir()
    found = json.loads(case.read_text())
    wrong = {
        "other": ({}, "other.json is not a finding"), "law": ({**found, "law": "no-such"}, "unknown law 'no-such'"),
        "target": ({**found, "target": "nosuch"}, "unknown target 'nosuch'"),
        "op": ({**found, "schedule": {**found["schedule"], "ops": [["sned", {}]]}}, "unknown 'sned'; did you mean"),
    }  # fmt: skip
    for name, (text, _) in wrong.items():
        (cases / f"{name}.json").write_text(json.dumps(text))
    code, rows = told(tmp_path, str(cases))
    assert code == 1
    by_name = {Path(row["case"]).stem: row for row in rows}
    assert by_name.pop(case.stem)["verdict"] == "REPRODUCED"
    assert {row["verdict"] for row in by_name.values()} == {"INVALID"}
    assert [says for name, (_, says) in wrong.items() if says not in by_name[name]["about"]] == []
    code, rows = told(tmp_path, str(cases), "--target", "reference")
    assert code == 2 and {row["verdict"] for row in rows} == {"FIXED", "INVALID"}
    capsys.readouterr()
    assert main(["cases", "add", str(cases / "law.json"), "--folder", str(tmp_path / "more")]) == 2
    assert "is about 'no-such', a law of the test that found it" in capsys.readouterr().err
    assert main(["replay", str(cases), str(cases), "--events"]) == 2
    assert main(["cases", "add", str(cases / "other.json")]) == 2


def test_a_finding_with_the_former_name_of_its_law_becomes_a_case(tmp_path: Path, capsys: Any) -> None:
    former = Path(__file__).parents[1] / "golden" / "alarms" / "conversation-answered-one-queue.json"
    assert json.loads(former.read_text())["law"] == "visitor-served"
    assert main(["cases", "add", str(former), "--folder", str(tmp_path / "cases")]) == 0, capsys.readouterr().err
    (case,) = (tmp_path / "cases").iterdir()
    assert case.name.startswith("conversation-answered-")
    assert [row["verdict"] for row in told(tmp_path, str(tmp_path / "cases"))[1]] == ["FIXED"]


def test_check_plays_cases_first_on_its_own_target(cases: Path, tmp_path: Path, capsys: Any) -> None:
    asked = ["check", "--trials", "5", "--seed", "s", "--law", "ack-flushed", "--jobs", "1", "--cases", str(cases)]
    asked += ["--runs", str(tmp_path / "runs")]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "1 FIXED" in said.err and "1 FIXED" not in said.out
    # Another bug, whose run of another law is green: the case alone is red.
    guilty = ["--target", "reference+answers_before_flush", "--law", "log-prefix"]
    files = ["--junit", str(tmp_path / "j.xml"), "--json", str(tmp_path / "j.json")]
    assert main([*asked[:5], *guilty, *asked[7:], *files]) == 1
    said = capsys.readouterr()
    assert "1 REPRODUCED" in said.err and "in sim: violated; " in said.out and "json is REPRODUCED" in said.out
    assert [each["verdict"] for each in json.loads((tmp_path / "j.json").read_text())["cases"]] == ["REPRODUCED"]
    (suite_,) = JUnitXml.fromfile(str(tmp_path / "j.xml"))
    failed = [each.name for each in suite_ if each.result]
    (case,) = cases.iterdir()
    assert failed == [f"case {case}"] and [each.time > 0 for each in suite_ if each.name in failed] == [True]
    red = max((tmp_path / "runs").iterdir())
    assert main(["report", "--engine", "local", str(red)]) == 1
    page = (red / "report" / "index.html").read_text()
    assert "known case of " not in page and "1 known case is REPRODUCED; " in page
    assert main(["show", str(red)]) == 1


def test_what_cannot_be_written_is_said_before_the_search(tmp_path: Path, capsys: Any) -> None:
    for option in ("--junit", "--json"):
        file = str(tmp_path / "no" / "f")
        assert main(["check", "--trials", "5", "--runs", str(tmp_path / "runs"), option, file]) == 2
        assert f"{option} {file}: there is no folder {tmp_path / 'no'}; create it first" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_known_case_means_the_same_on_the_terminal_and_in_the_report() -> None:
    for word, meaning in suite.MEANINGS.items():
        row = {"case": "c.json", "law": "x", "verdict": word, "showed": 0, "executed": 1, "about": ""}
        assert closing._with_cases("holds", {"cases": [row]})[0] == known_cases.verdict(row) == meaning.run, word
    assert {meaning.run for meaning in suite.MEANINGS.values()} == {"violated", "failed", "unknown", "holds"}
