"""Mutants in real-time labs: found by the machine, shrunk, executed again, reported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "harness"))

from shaky_lab import ShakyLab

from pairproof.harness import registry
from pairproof.harness.commands.main import main
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.search import repeated
from pairproof.harness.trials.trial import Trial

NAME, LAW = "loses_first_frame", "loss-is-suffix"


def register(lab: ShakyLab, monkeypatch: pytest.MonkeyPatch) -> None:
    find, names = registry.find, registry.names
    monkeypatch.setattr(
        registry, "find", lambda group, name: lab if (group, name) == ("labs", "shaky") else find(group, name)
    )
    monkeypatch.setattr(registry, "names", lambda group: names(group) + ["shaky"] * (group == "labs"))


def hunt(tmp_path: Path, *options: str) -> int:
    return main(["mutants", NAME, "--lab", "shaky", "--seed", "s", "--runs", str(tmp_path / "runs"), *options])


def test_a_mutant_is_found_by_the_machine_shrunk_replayed_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    register(ShakyLab(f"reference+{NAME}", 1), monkeypatch)
    assert hunt(tmp_path, "--json", str(tmp_path / "answer.json"), "--trials", "200") == 0
    (catch,) = json.loads((tmp_path / "answer.json").read_text())
    assert catch["killed"] and catch["law"] == LAW and catch["origin"] == "machine"
    assert catch["shrunk_in"] == "sim" and catch["showed"] == catch["executed"] == 5
    said = capsys.readouterr().out
    assert f"{NAME}: killed; {LAW}, found by the machine" in said and "violated again in 5 of 5 executions" in said
    # The story.
    assert "sent" in said and Path(catch["finding"]).is_file()


def test_a_mutant_that_is_not_found_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    lab = ShakyLab("reference", 1)
    register(lab, monkeypatch)
    assert hunt(tmp_path, "--trials", "3") == 1
    assert f"{NAME} SURVIVED 3 trials" in capsys.readouterr().out


def test_a_hunt_that_is_interrupted_says_nothing_of_its_mutants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    register(ShakyLab("reference", 1), monkeypatch)

    def interrupted(explorer: Explorer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Explorer, "run", interrupted)
    assert hunt(tmp_path, "--trials", "3") == 130
    assert "SURVIVED" not in capsys.readouterr().out


def test_what_never_shows_again_is_not_called_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    register(ShakyLab(f"reference+{NAME}", 1), monkeypatch)
    monkeypatch.setattr(Trial, "violates", lambda trial, law: False)
    monkeypatch.setattr(repeated, "small", lambda lab, target, schedule, *_: repeated.Small(schedule, "shaky", None))
    assert hunt(tmp_path, "--trials", "200") == 1
    assert "found, but not reproduced" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--lab", "process"], "in lab process each mutant takes minutes; name those to search for"),
        (["--lab", "moon"], "unknown lab 'moon'"),
        (["--jobs", "2"], "--jobs is for real-time labs such as process and docker"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], complaint: str, capsys: Any) -> None:
    assert main(["mutants", *arguments]) == 2
    assert complaint in capsys.readouterr().err
