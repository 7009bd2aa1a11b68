"""Six trials are no green light: the terminal, the page, the summary and JSON say so, and what was not played."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness import registry
from pairproof.harness.commands.main import main
from pairproof.harness.trials import resolve

LAWS = ["--law", "log-prefix", "--law", "contract", "--law", "ha-contiguous"]


class RealTime:
    """The simulation without the promise of determinism, so that no corpus is played: what a lab of processes is."""

    name = "realtime"
    deterministic = False
    _sim: Any = resolve.lab("sim")
    parts = _sim.parts
    observes = _sim.observes
    open = _sim.open


@pytest.fixture(autouse=True)
def without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pairproof.toml").write_text(
        "".join(f'[{table}]\nreport-engine = "local"\n' for table in ("check", "campaign", "chaos.run"))
    )
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    find, names = registry.find, registry.names
    monkeypatch.setattr(
        registry, "find", lambda group, name: RealTime() if (group, name) == ("labs", "realtime") else find(group, name)
    )
    monkeypatch.setattr(registry, "names", lambda group: names(group) + ["realtime"] * (group == "labs"))


def check(folder: Path, *arguments: str) -> int:
    asked = ["--jobs", "1", "--seed", "s", "--runs", str(folder / "runs"), "--report"]
    return main(["check", *LAWS, *asked, "--json", str(folder / "answer.json"), *arguments])


def told(folder: Path) -> tuple[dict[str, Any], str, str, dict[str, Any]]:
    """The answer of check, the first page, the summary and report.json."""
    (run,) = (folder / "runs").iterdir()
    page, summary, report = (run / "report" / name for name in ("index.html", "summary.md", "report.json"))
    answer = json.loads((folder / "answer.json").read_text())
    return answer, page.read_text(), summary.read_text(), json.loads(report.read_text())


@pytest.mark.usefixtures("real_time")
def test_six_trials_are_amber_everywhere_and_name_what_they_did_not_play(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, "--lab", "realtime", "--trials", "6") == 0
    answer, page, summary, report = told(tmp_path)
    found = answer["evidence"]
    assert (found["trials"], found["corpus_trials"], found["little"]) == (6, 0, True)
    missing = ", ".join(found["not_played"])
    drawn = set(resolve.drawn(resolve.lab("sim")))
    assert len(drawn) > len(found["not_played"]) > 10 and set(found["not_played"]) < drawn
    headline = "6 trials only. 3 of 3 laws could be judged in 6 trials, and each of them holds."
    said = capsys.readouterr().out
    assert f"\nnot played: {missing}" in said and report["headline"] == headline and f"\n{headline}\n" in said
    assert said.splitlines()[-3] == "6 trials only. reference in realtime: holds; 3 of 3 laws hold"
    assert re.search(
        rf'<section class="banner amber">\s*<h1>⚠ {re.escape(headline)}</h1>\s*<p[^>]*>Not played: {missing}', page
    )
    assert "<b>fewer than 20 trials, 3 laws on" not in page and "has fewer than 20 trials: what holds there" in page
    assert summary.startswith(f"## 🟡 pairproof: {headline}\n")
    assert f"not played: {missing.replace('_', chr(92) + '_')}" in summary
    assert (report["verdict"], report["amber"]) == ("holds", True)
    assert report["runs"][0]["evidence"] == found and all(row["few"] for row in report["by_run"])


@pytest.mark.usefixtures("real_time")
def test_show_and_a_report_of_two_runs_say_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(tmp_path, "--lab", "realtime", "--trials", "6")
    runs = tmp_path / "runs"
    capsys.readouterr()
    assert main(["show", str(runs)]) == 0
    said = capsys.readouterr().out
    assert "\nnot played: " in said and said.splitlines()[-1].startswith("6 trials only. 3 of 3 laws")
    assert check(tmp_path, "--trials", "20") == 0
    said = capsys.readouterr().out
    assert (
        "\nreference in sim: holds; 3 of 3 laws hold\n" in said
        and "\nnot played: " in said
        and "trials only" not in said
    )
    assert main(["report", str(runs), "--engine", "local", "--out", str(tmp_path / "both")]) == 0
    few = next(each.name for each in runs.iterdir() if "realtime" in each.name)
    assert capsys.readouterr().out.splitlines()[-2].startswith(f"6 trials only in {few}. 3 of 3 laws")


def test_campaign_of_few_trials_is_amber_whatever_the_corpus_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--trials", "19", "--seed", "s", "--engine", "local", "--jobs", "1", "--runs", str(tmp_path / "runs")]
    asked += ["--report", "--json", str(tmp_path / "answer.json")]
    assert main(["campaign", *LAWS, *asked]) == 0
    answer, page, _, report = told(tmp_path)
    found = answer["evidence"]
    assert (found["trials"], found["corpus_trials"], found["little"]) == (19, 40, True)
    assert report["runs"][0]["evidence"] == found and report["amber"] and 'class="banner amber"' in page
    said = capsys.readouterr().out
    assert "\n19 trials only, beside 40 of the fixed corpus. reference in sim: holds; 3 of 3 laws hold\n" in said
    assert report["headline"].startswith("19 trials only, beside 40 of the fixed corpus. 3 of 3 laws")


@pytest.mark.usefixtures("real_time")
def test_violation_in_few_trials_is_red_and_says_first_what_is_violated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = "reference+repeats_frame"
    assert check(tmp_path, "--lab", "realtime", "--trials", "6", "--target", target, "--law", "ha-appends-frames") == 1
    answer, page, summary, report = told(tmp_path)
    assert answer["evidence"]["little"] and not report["amber"] and 'class="banner violated"' in page
    assert ": 2 of 4 laws are violated." in report["headline"] and summary.startswith("## ❌ pairproof: violated.")
    assert f"\n{target} in realtime: " in capsys.readouterr().out


def test_scenario_is_exempt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--cases", "1", "--seed", "s", "--runs", str(tmp_path / "runs"), "--report"]
    assert main(["chaos", "run", "master-kill-under-load", *asked]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    report = json.loads((run / "report" / "report.json").read_text())
    assert (
        not report["amber"]
        and "trial only" not in report["headline"]
        and not any(row["few"] for row in report["by_run"])
    )
