"""``pairproof judge RUN``: kept histories judged again, with the worst verdict of their trials."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairproof.chaos.observers.ha_capture import read_capture
from pairproof.harness.commands.main import main
from pairproof.harness.history import Event
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.trial import Trial

GOLDEN = Path(__file__).parents[1] / "golden" / "rocketmq-4.9.7"


def record_run(folder: Path, histories: list[list[Event]], observes: frozenset[str]) -> None:
    facts = {
        "command": ["check"], "lab": "capture", "target": "rocketmq-4.9.7", "profile": "quick", "seed": "0",
        "observes": sorted(observes), "laws": [], "must_not_be_vacuous": [], "keep": "all",
    }  # fmt: skip
    with RunWriter(folder, facts) as writer:
        for number, events in enumerate(histories):
            writer.trial(Trial(number, "replay", Schedule({}, "0", ()), events, []))


def told(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], list[dict[str, object]]]:
    (run,) = json.loads(capsys.readouterr().out)
    return {each["law"]: each["verdict"] for each in run["laws"]}, run["violations"]


def test_a_run_is_judged_by_its_worst_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = read_capture(GOLDEN)
    asked = next(each.seq for each in good.events if each.kind == "report")
    bad = [
        each._replace(kind="mark", f="lost") if each.seq <= asked + 1 and each.kind == "report" else each
        for each in good.events
    ]
    record_run(tmp_path / "clean", [good.events], good.observes)
    record_run(tmp_path / "mixed", [good.events, bad], good.observes)
    assert main(["judge", str(tmp_path / "clean"), "--json"]) == 0
    verdicts, violations = told(capsys)
    assert verdicts["ha-silent-until-asked"] == verdicts["ha-contiguous"] == "holds"
    assert verdicts["contract"] == "not-observable"
    assert violations == []
    assert main(["judge", str(tmp_path / "mixed"), "--law", "ha-silent-until-asked", "--json"]) == 1
    verdicts, violations = told(capsys)
    assert verdicts == {"ha-silent-until-asked": "violated"}
    assert [each["trial"] for each in violations] == [1]
    assert main(["judge", str(tmp_path / "clean"), str(tmp_path / "mixed")]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-3].startswith("mixed: violated; 1 of ") and "2 kept trials" in said[-3]
    assert said[-2].startswith("again: ") and said[-2].endswith("judge " + str(tmp_path / "mixed"))
    assert said[-1].startswith("next: ") and str(tmp_path / "mixed") in said[-1]
    assert not any(line.lstrip().startswith("ha-contiguous") for line in said), "a law that holds has no row"


def test_a_folder_that_is_no_run_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", str(tmp_path / "nowhere")]) == 2
    assert main(["judge", str(tmp_path)]) == 3
    assert capsys.readouterr().err.count("\n") == 2


def test_a_run_without_a_history_does_not_say_that_laws_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record_run(tmp_path / "empty", [], frozenset())
    assert main(["judge", str(tmp_path / "empty")]) == 3
    assert "empty decides nothing: it holds no history to judge; record a run" in capsys.readouterr().out
