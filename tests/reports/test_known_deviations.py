"""A run that shows known deviations only, as the judge and every form of the report tell it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.errors import EXIT_HOLDS, EXIT_VIOLATED, CorruptRun
from pairproof.harness.judging import deviations
from pairproof.harness.runs import reader
from pairproof.reports import annotations, engines, inputs, junit, known_deviations, model, summary

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
    assert "1 of them deviates as known" in made.headline
    assert made.rejudged["different"] == 0
    text = summary.text(made)
    assert f"- known deviation: {ID}: A slave whose link falls silent" in text
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


MASTER = "brokerRole=SYNC_MASTER\nflushDiskType=ASYNC_FLUSH\nhaSendHeartbeatInterval=200\nhaHousekeepingInterval=3000\n"
SLAVE = "brokerRole=SLAVE\nbrokerId=1\nhaSendHeartbeatInterval=200\nhaHousekeepingInterval=3000\n"
SECRET = 'initAuthenticationUser={"username":"admin","password":"hunter2"}\nnamesrvAddr=http://u:hunter2@n:9876\n'
MEANS = "A slave whose link falls silent stays on it for ever"


def played(runs: Path, *options: str, files: bool = True) -> tuple[int, Path]:
    """The exit code of that scenario, and its run's folder."""
    for name, text in (("master", MASTER + SECRET), ("slave", SLAVE)):
        (runs / f"{name}.conf").write_text(text)
    own = ["--master-conf", str(runs / "master.conf"), "--slave-conf", str(runs / "slave.conf")] if files else []
    asked = ["chaos", "run", "one-way-partition", "--target", MODEL, "--seed", "1", "--runs", str(runs)]
    code = main([*asked, *own, *options, "--json", str(runs / "answer.json")])
    return code, next(each for each in runs.iterdir() if each.is_dir())


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """The same under a team's own files."""
    return played(tmp_path_factory.mktemp("own"))


def test_what_is_known_fails_the_run_of_a_team_s_own_files_and_the_headline_says_what_it_costs(
    own: tuple[int, Path],
) -> None:
    code, folder = own
    answer = json.loads((folder.parent / "answer.json").read_text())
    assert code == EXIT_VIOLATED and answer["fails_by_deviations"] and answer["known_deviations"] == "fail"
    assert answer["consequence"].startswith(MEANS) and f"({ID}, in 1 of 2 trials)" in answer["consequence"]
    made = report(folder)
    assert (made.verdict, made.exit_code) == ("known-deviation", EXIT_VIOLATED)
    assert made.headline.startswith(MEANS) and not made.findings
    (line,) = annotations.lines(made, {"GITHUB_ACTIONS": "true"})
    assert line.startswith(f"::error title={ID} is a known deviation of") and MEANS in line
    assert "### Your configuration" in summary.text(made)


@pytest.mark.parametrize(
    ("options", "files", "code", "verdict", "amber"),
    [
        (("--known-deviations", "pass"), True, EXIT_HOLDS, "holds", True),
        (("--known-deviations", "fail"), False, EXIT_VIOLATED, "known-deviation", False),
        ((), False, EXIT_HOLDS, "holds", False),
    ],
)
def test_an_option_decides_and_by_default_a_version_without_files_passes(
    options: tuple[str, ...], files: bool, code: int, verdict: str, amber: bool, tmp_path: Path
) -> None:
    found, folder = played(tmp_path, *options, files=files)
    made = report(folder)
    assert (found, made.exit_code, made.verdict, made.amber) == (code, code, verdict, amber)
    assert MEANS in made.headline and made.headline.startswith(MEANS) == (amber or verdict != "holds")


def test_a_run_says_what_was_brought_when_it_begins_without_its_secrets(own: tuple[int, Path]) -> None:
    text = (own[1] / "run.json").read_text()
    told = json.loads(text)["configuration"]
    assert "hunter2" not in text and "SYNC_MASTER" in told["deployment"][0]
    assert [side["side"] for side in told["sides"]] == ["master", "slave"]
    assert told["sides"][0]["values"]["initAuthenticationUser"] == "***"
    assert told["sides"][0]["values"]["haHousekeepingInterval"] == "3000" and told["sides"][0]["version"] == "4.9.7"
    assert report(own[1]).to_json()["runs"][0]["configuration"] == told


def test_the_first_page_opens_with_the_configuration_and_has_a_card_for_what_is_known(
    own: tuple[int, Path], tmp_path: Path
) -> None:
    assert main(["report", str(own[1]), "--engine", "local", "--out", str(tmp_path / "r")]) == EXIT_VIOLATED
    page = (tmp_path / "r" / "index.html").read_text()
    assert page.index('<h2 id="configuration">') < page.index('<h2 id="known">') < page.index('<h2 id="trials">')
    assert "Met in 1 of 2 trials" in page and "https://github.com/apache/rocketmq/issues/1082" in page
    assert "4.9.7 lost" in page and "hunter2" not in page and "first-report-believed</b>" in page


def test_a_plain_run_has_no_section_of_a_configuration(run: Path) -> None:
    assert known_deviations.configurations(report(run).runs) == []


def test_what_the_files_rule_out_or_nobody_says_a_word_of_costs_nothing() -> None:
    def row(name: str, **more: Any) -> dict[str, Any]:
        return deviations.find(name).to_json() | {"findings": 1, "trials": 3, "laws": ["log-prefix"], **more}

    rows = [row(ID, trials=9), row("file-size-unnoticed"), row("first-report-believed"), row(ID, id="own", means="")]
    facts = {"deviations": rows, "known_deviations": "fail", "trials": 12, "run": "r", "target": MODEL, "lab": "sim"}
    facts["configuration"] = {"avoided": ["file-size-unnoticed"]}
    # What loses messages comes first, however seldom it was met.
    assert [each["id"] for each in deviations.met(facts)] == ["first-report-believed", ID]
    told = deviations.consequence([facts])
    assert "a slave that has it stays connected" in told and "1 more known" in told
    cards = {each["id"]: each["ruled_out"] for each in known_deviations.cards([facts])}
    assert cards == {"first-report-believed": False, ID: False, "file-size-unnoticed": True, "own": False}
    other = {"target": "reference", "trials": 500}
    assert "(first-report-believed, in 3 of 12 trials)" in deviations.consequence([facts, other])
    facts["deviations"] = rows[1:2]
    assert not deviations.fails(facts) and deviations.fails(facts | {"configuration": {"avoided": []}})


@pytest.mark.parametrize(
    "fact",
    [
        {"configuration": {"sides": []}},
        {"configuration": [1]},
        {"deviations": [{"id": "x"}]},
        {"deviations": [{"id": "x", "about": 1, "upstream": [], "findings": 1, "trials": 1, "laws": []}]},
    ],
)
def test_a_run_whose_facts_about_it_are_of_another_shape_is_refused(fact: dict[str, Any], run: Path) -> None:
    before = (run / "run.json").read_text()
    assert reader.read_facts(run)["deviations"]
    try:
        (run / "run.json").write_text(json.dumps(json.loads(before) | fact))
        with pytest.raises(CorruptRun, match=next(iter(fact))):
            reader.read_facts(run)
    finally:
        (run / "run.json").write_text(before)


def test_only_a_place_that_is_named_is_linked() -> None:
    assert known_deviations.upstream("apache/rocketmq PR 9706 (merged 2025-09)") == [
        ("apache/rocketmq PR ", ""), ("9706", "https://github.com/apache/rocketmq/pull/9706"),
        (" (merged 2025-09)", ""),
    ]  # fmt: skip
    links = [href for _, href in known_deviations.upstream("apache/rocketmq issues 1498, 2531 and 9705") if href]
    assert [each.rpartition("/")[2] for each in links] == ["1498", "2531", "9705"]
    assert known_deviations.upstream("javascript:alert(1)") == [("javascript:alert(1)", "")]


def test_a_law_that_holds_in_one_run_and_deviates_in_another_is_one_law(run: Path, own: tuple[int, Path]) -> None:
    # The same scenario of the reference holds.
    asked = ["chaos", "run", "one-way-partition", "--seed", "1", "--runs", str(own[1].parent / "other")]
    assert main(asked) == EXIT_HOLDS
    made = report(own[1], next((own[1].parent / "other").iterdir()))
    put = int(re.findall(r"(\d+) of \d+ laws", made.headline)[0])
    good = [row for row in made.by_run if row["verdict"] in ("holds", "known-deviation")]
    assert put == len({row["law"] for row in good}) < len(good)
    assert {row["verdict"] for row in good if row["law"] == LAW} == {"holds", "known-deviation"}
