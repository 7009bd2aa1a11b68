"""How often a finding showed when it was replayed is kept in its run, and nothing depends on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.runs import replays

ASKED = ["--target", "reference+answers_before_flush", "--seed", "s", "--law", "ack-flushed", "--jobs", "1"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    assert main(["check", *ASKED, "--trials", "10", "--runs", str(runs)]) == 1
    (folder,) = runs.iterdir()
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / recorded.name))


def entries(folder: Path) -> list[dict[str, Any]]:
    return replays.read(folder / "replays" / "0001.json")


def test_each_replay_is_recorded_and_the_report_tells_of_all(folder: Path, tmp_path: Path) -> None:
    finding = str(folder / "findings" / "0001.json")
    assert main(["replay", finding]) == 1
    assert main(["replay", finding, "--repeat", "3"]) == 1
    # Of another target it says nothing.
    assert main(["replay", finding, "--target", "reference"]) == 0
    assert [(each["executed"], each["showed"]) for each in entries(folder)] == [(1, 1), (3, 3)]
    assert main(["report", str(folder), "--engine", "local", "--out", str(tmp_path / "out")]) == 1
    told = json.loads((tmp_path / "out" / "report.json").read_text())["findings"][0]
    assert (told["replay_executed"], told["replay_showed"]) == (4, 4)
    assert "it showed in 4 of 4 executions" in (tmp_path / "out" / "findings" / "001.html").read_text()


def test_a_finding_that_shows_at_times_is_flaky_in_a_comparison(folder: Path, tmp_path: Path) -> None:
    assert main(["check", *ASKED, "--trials", "10", "--runs", str(tmp_path / "later")]) == 1
    (later,) = (tmp_path / "later").iterdir()

    def compared() -> str:
        line = ["report", "--compare", str(folder), str(later), "--engine", "local", "--no-rejudge"]
        assert main([*line, "--out", str(tmp_path / "out")]) in (1, 3)
        return (tmp_path / "out" / "compared.html").read_text()

    assert "show in some of their replays only" not in compared()
    replays.add(folder / "findings" / "0001.json", "process", "reference", 5, 2)
    page = compared()
    assert (
        "findings of 1 law show in some of their replays only" in page and "2 of 5" in page and "<b>flaky</b>" in page
    )


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"at": "now"}]', "[" * 100_000])
def test_a_file_that_is_none_counts_for_nothing(folder: Path, text: str) -> None:
    (folder / "replays").mkdir()
    (folder / "replays" / "0001.json").write_text(text)
    assert entries(folder) == []


def test_what_cannot_be_recorded_ends_nothing(folder: Path, tmp_path: Path) -> None:
    (folder / "replays").write_text("a file where a folder should be")
    assert main(["replay", str(folder / "findings" / "0001.json")]) == 1
    alone = tmp_path / "mine.json"
    shutil.copy(folder / "findings" / "0001.json", alone)
    assert main(["replay", str(alone)]) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["mine.json", folder.name])


def test_entries_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "MAX_ENTRIES", 2)
    for showed in range(4):
        replays.add(folder / "findings" / "0001.json", "sim", "reference", 3, showed)
    assert [each["showed"] for each in entries(folder)] == [2, 3]
