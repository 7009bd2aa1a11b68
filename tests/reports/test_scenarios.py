"""Runs of scenarios in a report: verdicts, headline, pages, JUnit and Markdown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pairproof.chaos.scenarios import play
from pairproof.reports import engines, inputs, junit, model, overview, pages, scenarios, summary
from pairproof.reports.model import Report

EVIL = "x <b>y</b> | `z` ]]> & so on"


def told(name: str, verdict: str, *reasons: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "verdict": verdict, "trials": 2, "seconds": 1.5, "reasons": list(reasons), "laws": {}} | more


def report_of(*folders: Path) -> Report:
    runs, corrupt = inputs.open_runs(folders)
    return model.assemble(runs, corrupt, engines.here(runs).tables)


@pytest.fixture
def played(write_run: Any, rows: Any) -> Any:
    """``played(run, told(...), ..., lab="sim")``: the report of a run whose laws all hold."""

    def record(run: str, *told: dict[str, Any], law: str = "holds", **facts: Any) -> Path:
        verdicts = [rows.verdict(0, "log-prefix", law)]
        made = write_run(run, facts={"scenarios": list(told), **facts}, verdicts=verdicts, trials=[rows.trial(0)])
        assert isinstance(made, Path)
        return made

    return record


def test_verdicts_are_those_of_who_plays_scenarios() -> None:
    assert scenarios.VERDICTS == play.VERDICTS
    assert set(summary.SIGNS) >= set(scenarios.VERDICTS)
    assert {*pages.MEANINGS, *scenarios.MEANINGS} >= set(scenarios.VERDICTS)


@pytest.mark.parametrize("verdict", scenarios.VERDICTS)
def test_laws_that_hold_make_no_report_green_in_which_a_scenario_is_not(played: Any, verdict: str) -> None:
    report = report_of(played("r", told("a", "holds"), told("b", verdict, "why")))
    assert report.verdict == report.runs[0]["verdict"] == verdict
    laws = "1 of 1 law could be judged in 1 trial, and each of them holds."
    scenes = "All 2 scenarios hold" if verdict == "holds" else f"Of 2 scenarios: 1 {verdict}, 1 holds"
    assert report.headline == f"{scenes}; {laws}"


def test_a_violated_law_comes_first_in_the_headline_and_stays_red_where_scenarios_hold(played: Any) -> None:
    report = report_of(played("r", told("a", "holds"), law="violated"))
    assert (report.verdict, report.headline) == ("violated", "1 of 1 law is violated: log-prefix; scenario a holds.")


def test_a_scenario_of_a_run_that_was_killed_is_unknown(played: Any) -> None:
    (row,) = report_of(played("r", {"name": "a"}, state="running")).scenarios
    assert (row["verdict"], row["trials"], row["reasons"]) == ("unknown", None, [scenarios.ENDED_EARLY])


def test_a_line_says_of_every_place_the_worst_and_what_is_not_green_comes_first(played: Any) -> None:
    report = report_of(
        played("r1", told("a", "holds"), told("b", "holds"), told("c", "holds")),
        played("r2", told("b", "unmet", "no"), told("a", "holds"), told("c", "skipped", "no disk"), lab="process"),
        played("r3", told("b", "failed", "the lab failed: x"), lab="process"),
    )
    found = scenarios.lines(report.scenarios)
    assert [(line.name, line.verdict) for line in found] == [("b", "unmet"), ("c", "skipped"), ("a", "holds")]
    here = ("reference", "process")
    assert found[0].cells[here]["run"] == "r2" and found[0].cells["reference", "sim"]["verdict"] == "holds"
    assert scenarios.places(report.scenarios) == [here, ("reference", "sim")]
    assert report.headline.startswith("Of 3 scenarios: 1 unmet, 1 skipped, 1 holds; ")


@pytest.mark.parametrize(
    "wrong",
    [
        "text", ["name"], [{"verdict": "holds"}], [told("a", "splendid")], [told("a", "holds", reasons="no list")],
        [told("a", "holds", seconds="long")],
    ],
)  # fmt: skip
def test_scenarios_that_no_run_writes_are_a_damaged_run(write_run: Any, rows: Any, wrong: Any) -> None:
    report = report_of(write_run("r", facts={"scenarios": wrong}, trials=[rows.trial(0)]))
    assert not report.runs and re.search(r"run\.json .*scenarios", report.corrupt[0]["reason"])


NOT_HERE = {"name": "b", "lacks": ["CanLimitMemory", "CanReplaceImage"]}


def test_what_a_lab_cannot_play_is_named_and_changes_no_verdict(played: Any, tmp_path: Path) -> None:
    other = {"name": "c", "lacks": ["CanDisconnect"]}
    report = report_of(
        played("r1", told("a", "holds"), left_out=[NOT_HERE, other]),
        played("r2", told("a", "holds"), told("b", "holds"), lab="docker"),
    )
    assert (report.verdict, report.headline.startswith("All 2 scenarios hold; ")) == ("holds", True)
    lacks = {"b": "CanLimitMemory, CanReplaceImage", "c": "CanDisconnect"}
    assert scenarios.left_out(report.runs) == {("reference", "sim"): lacks}
    named = "Not possible in lab sim, with the missing abilities: b (CanLimitMemory, CanReplaceImage), "
    text = summary.text(report)
    assert (
        "| b | ✅ holds | cannot: CanLimitMemory, CanReplaceImage |" in text and f"- {named}c (CanDisconnect)" in text
    )
    pages.write(report, {}, {}, tmp_path)
    index = (tmp_path / "index.html").read_text()
    assert f"{named}c (CanDisconnect)." in index and "cannot: CanLimitMemory, CanReplaceImage</span>" in index
    assert "not played" not in index + text and "lab docker, which" not in index + text


@pytest.mark.parametrize("wrong", ["text", ["name"], [{"name": "a"}], [NOT_HERE | {"lacks": []}], [{"lacks": ["x"]}]])
def test_what_no_run_leaves_out_like_that_is_a_damaged_run(played: Any, wrong: Any) -> None:
    report = report_of(played("r", told("a", "holds"), left_out=wrong))
    assert not report.runs and re.search(r"run\.json (leaves out|.*left_out)", report.corrupt[0]["reason"])


def test_a_finding_names_its_scenario_and_does_not_claim_to_be_minimal(write_run: Any, rows: Any) -> None:
    of_one = rows.finding("log-prefix", "differs", 0, 0)
    of_one["schedule"] = {**of_one["schedule"], "seed": "7/x/slave-lag/0/2"}
    of_none = rows.finding("log-grows", "shrank", 0, 0)
    of_none["schedule"] = {**of_none["schedule"], "seed": "7/x/other/0/2"}
    verdicts = [rows.verdict(0, law, "violated", seq=1) for law in ("log-prefix", "log-grows")]
    facts = {"scenarios": [told("slave-lag", "violated")]}
    report = report_of(write_run("r", [of_one, of_none], facts=facts, verdicts=verdicts, trials=[rows.trial(0)]))
    named = {row["law"]: (row["scenario"], row["shrunk"]) for row in report.findings}
    assert named == {"log-prefix": ("slave-lag", False), "log-grows": ("", True)}
    text = summary.text(report)
    assert "Scenario slave-lag; its program:" in text and "The smallest program that shows it:" in text


def test_pages_show_scenarios_and_every_badge_leads_to_its_row(played: Any, tmp_path: Path) -> None:
    first = played("r1", *(told(f"s{number}", "holds") for number in range(overview.MAX_GREEN + 2)))
    second = played("r2", told("s3", "unmet", EVIL, "b", "c", "d", "e"), told("bad", "failed"), lab="process")
    pages.write(report_of(first, second), {}, {}, tmp_path)
    index, runs = (tmp_path / "index.html").read_text(), (tmp_path / "runs.html").read_text()
    assert index.index("✕ unmet</a>") < index.index("! failed</a>") < index.index("scenarios hold in every")
    assert '<section class="banner unmet">' in index and "and 2 more" in index and "not played" in index
    for page in (index, runs):
        assert "x &lt;b&gt;y&lt;/b&gt;" in page and "<b>y</b>" not in page
    anchors = set(re.findall(r'id="([^"]+)"', runs))
    links = set(re.findall(r'runs\.html#([^"]+)"', index))
    assert links == {"r2-bad", "r2-s3", *(f"r1-s{number}" for number in range(overview.MAX_GREEN + 2))}
    assert links <= anchors


def test_a_report_without_scenarios_says_nothing_of_them(two_runs: list[Path], tmp_path: Path) -> None:
    report = report_of(*two_runs)
    pages.write(report, {}, {}, tmp_path)
    assert "Scenarios" not in "".join(page.read_text() for page in tmp_path.glob("*.html")) + summary.text(report)
    assert "cenario" not in report.headline and report.to_json()["scenarios"] == []


def test_junit_has_a_case_for_each_scenario(played: Any, tmp_path: Path) -> None:
    found = [told(verdict, verdict, *([] if verdict == "holds" else [EVIL, "two"])) for verdict in scenarios.VERDICTS]
    junit.write(report_of(played("r", *found)), tmp_path / "junit.xml")
    suite = next(ElementTree.parse(tmp_path / "junit.xml").getroot().iter("testsuite"))
    cases = {case.get("name"): case for case in suite if case.get("classname") == "reference.sim.scenarios"}
    assert {name: [child.tag for child in case] for name, case in cases.items()} == {
        "violated": ["failure"], "unmet": ["failure"], "failed": ["error"], "unknown": ["error"],
        "skipped": ["skipped"], "holds": [],
    }  # fmt: skip
    assert cases["unmet"][0].get("message") == f"unmet: {EVIL}" and cases["unmet"][0].text == f"{EVIL}\ntwo"
    assert suite.get("failures") == "2" and suite.get("errors") == "2" and suite.get("skipped") == "1"
    assert cases["holds"].get("time") == "1.5"


def test_what_a_green_scenario_could_not_see_is_said(played: Any, tmp_path: Path) -> None:
    hidden = told("a", "holds", not_observable=["ack-replicated", "cut events"])
    report = report_of(played("r", hidden, told("b", "holds")))
    pages.write(report, {}, {}, tmp_path)
    junit.write(report, tmp_path / "junit.xml")
    said = "not observable here: ack-replicated, cut events"
    assert (tmp_path / "runs.html").read_text().count(said) == 1
    suite = next(ElementTree.parse(tmp_path / "junit.xml").getroot().iter("testsuite"))
    out = {case.get("name"): case.findtext("system-out") for case in suite if case.get("classname") != "law"}
    assert out["a"] == said and out["b"] is None


def test_the_summary_has_the_table_and_the_reasons(played: Any) -> None:
    many = [f"reason {number}" for number in range(summary.MAX_REASONS + 2)]
    text = summary.text(
        report_of(
            played("r1", told("a", "holds"), told("b", "holds")),
            played("r2", told("b", "unmet", EVIL, *many), lab="process"),
        )
    )
    assert text.startswith("## ❌ pairproof: unmet. Of 2 scenarios: 1 unmet, 1 holds; ")
    assert "| scenario | reference in process | reference in sim |" in text
    assert text.index("| b | ❌ unmet | ✅ holds |") < text.index("| a | not played | ✅ holds |")
    line = next(line for line in text.splitlines() if line.startswith("- **b** in process, unmet: "))
    assert r"x \<b\>y\</b\> \|" in line and "reason 3" in line and "reason 4" not in line and "and 3 more" in line
