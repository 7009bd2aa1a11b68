"""Which runs a report judges: the newest of each question; older ones are in its trend, and never summed with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands.main import main
from pairproof.reports import inputs, series

DAYS = [f"2026-11-{day:02}T00:00:00+00:00" for day in range(1, 29)]


@pytest.fixture
def night(write_run: Any, rows: Any) -> Any:
    """``night(day, broken=False, ...)``: a run of a nightly, whose law holds or is violated."""

    def record(day: int, broken: bool = False, **facts: Any) -> Path:
        name = f"r{day}"
        verdicts = [rows.verdict(n, "log-prefix", "violated" if broken and n == 3 else "holds") for n in range(30)]
        findings = [rows.finding("log-prefix", "the logs differ", 3, 3, cause="log-prefix, append")] if broken else []
        told = {"began": DAYS[day], "laws": ["log-prefix"], **facts}
        trials = [rows.trial(n) for n in range(30)]
        made = write_run(name, findings, facts=told, verdicts=verdicts, trials=trials)
        assert isinstance(made, Path)
        return made

    return record


def judged(*folders: Path) -> list[str]:
    return [run.folder.name for run in series.of(inputs.open_runs(folders)[0]).judged]


def report(out: Path, *folders: Path, status: int) -> tuple[dict[str, Any], str, str]:
    assert main(["report", *map(str, folders), "--engine", "local", "--out", str(out)]) == status
    pages = ((out / name).read_text() for name in ("index.html", "runs.html"))
    return json.loads((out / "report.json").read_text()), *pages


def test_a_fix_turns_the_report_green_and_the_trend_keeps_what_was(night: Any, tmp_path: Path) -> None:
    folders = [night(0), night(1, broken=True), night(2, broken=True), night(3)]
    told, index, runs = report(tmp_path / "out", *folders, status=0)
    assert (told["verdict"], len(told["runs"]), told["findings"]) == ("holds", 1, [])
    assert told["search"][0]["trials"] == 30, "runs are not summed"
    assert [row["verdict"] for row in told["trend"]] == ["holds", "violated", "violated", "holds"]
    assert [bool(row["replaced_by"]) for row in told["trend"]] == [True, True, True, False]
    assert "<b>Better</b>: 0 new causes, 1 gone, 0 as before" in index and 'class="banner holds"' in index
    assert runs.count('class="bar violated"') == 2 and runs.count('class="bar holds"') == 2
    assert runs.count("the logs differ") == 2


def test_the_same_folder_is_red_before_the_fix(night: Any, tmp_path: Path) -> None:
    told, index, _ = report(tmp_path / "out", night(0), night(1, broken=True), status=1)
    assert told["headline"] == "The logs differ: 1 of 1 law is violated."
    assert "<b>Worse</b>: 1 new cause" in index and '<span class="chip violated">new</span>' in index


def test_nine_pairs_are_nine_columns_whatever_their_dates(night: Any, tmp_path: Path) -> None:
    places = [(f"rocketmq-{v}", lab) for v in ("4.9.7", "5.3.1", "5.5.0") for lab in ("sim", "process", "docker")]
    folders = [night(day, target=target, lab=lab) for day, (target, lab) in enumerate(places)]
    folders.append(night(20, broken=True, target="rocketmq-5.5.0", lab="docker"))
    told, index, _ = report(tmp_path / "out", *folders, status=1)
    assert len(told["runs"]) == 9 and sorted((r["target"], r["lab"]) for r in told["runs"]) == sorted(places)
    assert told["headline"].endswith(" by rocketmq-5.5.0.") and index.count("by target and lab") == 1
    assert all(f"{target} in {lab}" in index for target, lab in places)


@pytest.mark.parametrize(
    "later",
    [
        {"state": "interrupted"}, {"lab": "process"}, {"target": "reference+other"}, {"profile": "deep"},
        {"laws": ["contract"]}, {"command": ["pairproof", "check", "--set", "flushDiskType=SYNC_FLUSH"]},
        {"began": "2026-11-01T00:00:01+00:00"}, {"began": DAYS[0]}, {"began": "yesterday"},
    ],
)  # fmt: skip
def test_what_asked_something_else_or_did_not_end_replaces_nothing(night: Any, later: dict[str, Any]) -> None:
    """The two with other moments began before the earlier one had ended, or nobody knows when."""
    assert len(judged(night(0, broken=True), night(1, **later))) == 2


@pytest.mark.parametrize("later", [{}, {"seed": "8"}, {"laws": ["log-prefix", "contract"]}, {"commit": "fixed"}])
def test_what_asked_at_least_as_much_replaces(night: Any, later: dict[str, Any]) -> None:
    assert len(judged(night(0, broken=True), night(1, **later))) == 1


def test_shards_of_a_commit_are_judged_together_even_one_after_the_other(night: Any) -> None:
    shards = [night(day, broken=not day, seed=str(day), commit="c0ffee") for day in range(3)]
    assert len(judged(*shards)) == 3
    assert judged(*shards, night(4, seed="4", commit="fixed")) == ["r4"]


def test_of_scenarios_the_newer_run_must_have_played_at_least_the_older_ones(night: Any) -> None:
    def played(*names: str) -> list[dict[str, str]]:
        return [{"name": name, "verdict": "holds"} for name in names]

    both, one = {"scenarios": played("a", "b")}, {"scenarios": played("a")}
    assert len(judged(night(0, **both), night(1, **one))) == 2
    assert len(judged(night(2, **one), night(3, **both))) == 1


def test_a_comparison_judges_the_second_run_whatever_was_tested(night: Any, tmp_path: Path) -> None:
    before, after = night(1, broken=True, target="reference+bug"), night(0)
    asked = ["report", str(before), str(after), "--compare", "--engine", "local", "--out", str(tmp_path / "out")]
    assert main(asked) == 0
    told = json.loads((tmp_path / "out" / "report.json").read_text())
    assert told["compared"]["word"] == "Better, perhaps" and [
        each["change"] for each in told["compared"]["causes"]
    ] == ["only before"]
    page = (tmp_path / "out" / "compared.html").read_text()
    assert page.index("Better, perhaps: 1 cause is gone") < page.index('id="causes"') < page.index("Both runs")


def test_an_interrupted_newest_run_is_never_better(
    night: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it shows is named beside the fix that came before; what it does not show may be what it did not play."""
    fixed = [night(0, broken=True), night(1)]
    report(tmp_path / "calm", *fixed, night(2, state="interrupted"), status=3)
    told = capsys.readouterr().out
    assert "Better (r1, complete): 0 new causes, 1 gone, 0 as before." in told and told.count("Since") == 1
    _, index, _ = report(tmp_path / "worse", *fixed, night(3, broken=True, state="interrupted"), status=1)
    told = capsys.readouterr().out
    assert "Better (r1, complete)" in told and "Worse (r3, interrupted): 1 new cause, 0 gone, 0 as before." in told
    assert "<b>Worse</b> (reference in sim, interrupted): 1 new cause" in index
    assert "Worse (r3, interrupted)" in (tmp_path / "worse" / "summary.md").read_text()
    assert "Better (r1" in (tmp_path / "worse" / "summary.md").read_text()


def test_a_folder_that_cannot_be_read_is_no_green(night: Any, tmp_path: Path) -> None:
    spoilt = night(1)
    (spoilt / "run.json").write_text("{")
    told, index, _ = report(tmp_path / "out", night(0), spoilt, status=3)
    assert told["headline"].startswith("1 run folder could not be read. 1 of 1 law could be judged")
    assert told["amber"] and 'class="banner amber"' in index
    assert (tmp_path / "out" / "summary.md").read_text().startswith("## 🟡 pairproof: 1 run folder could not be read.")


def test_a_failed_lab_says_why_in_the_headline(write_run: Any, tmp_path: Path) -> None:
    failed = write_run(
        "r", facts={"state": "failed", "reason": "no toxiproxy-server: run pairproof labs install toxiproxy"}
    )
    told, _, _ = report(tmp_path / "out", failed, status=4)
    assert "The lab failed after" in told["headline"] and "labs install toxiproxy)" in told["headline"]
