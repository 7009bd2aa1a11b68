"""Run folders that are not files of this machine: recorded, read, replayed, and named in one line where they fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.errors import CorruptRun, PairproofError, UsageError
from pairproof.harness.runs import atomic
from pairproof.harness.runs.locations import is_remote, place, reached
from pairproof.harness.runs.reader import RunReader, find_runs, resolve_runs

ASKED = ["--target", "reference+answers_before_flush", "--seed", "s", "--law", "ack-flushed", "--jobs", "1"]


@pytest.fixture
def runs() -> Iterator[Path]:
    """A folder of a file system that is not this machine's."""
    yield place(f"memory://{uuid4()}/runs")


@pytest.mark.parametrize(
    ("text", "path"), [("runs", "runs"), ("/tmp/a:b", "/tmp/a:b"), ("file:///tmp/runs", "/tmp/runs"), ("a://b", "a:/b")]
)
def test_paths_of_this_machine(text: str, path: str) -> None:
    assert place(text) == Path(path) and not is_remote(place(text))


def test_a_file_system_that_is_not_known_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"^nothing://b/runs cannot be used: "):
        place("nothing://b/runs")


def test_a_run_is_recorded_read_replayed_and_explained_where_it_is(runs: Path, tmp_path: Path) -> None:
    where = ["--runs", str(runs)]
    assert main(["check", *ASKED, "--trials", "20", *where]) == 1
    assert main(["campaign", *ASKED, "--trials", "20", "--engine", "local", *where]) == 1
    found = resolve_runs(str(runs))
    assert found == find_runs(runs) and len(found) == 2
    for folder in found:
        RunReader(folder).check()
        assert not list(folder.glob("*/.*"))
        finding = str(folder / "findings" / "0001.json")
        assert main(["replay", finding]) == 1
        assert main(["autopsy", finding]) == 0
        assert main(["judge", str(folder)]) == 1
    assert main(["report", str(runs), "--engine", "local", "--out", str(tmp_path / "out")]) == 1
    told = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [row["run"] for row in told["runs"]] == [folder.name for folder in found]


@pytest.fixture(scope="module")
def recorded() -> Path:
    """A run's folder."""
    runs = place(f"memory://{uuid4()}/runs")
    main(["check", *ASKED, "--trials", "10", "--runs", str(runs)])
    (folder,) = find_runs(runs)
    return folder


@pytest.fixture
def part(recorded: Path) -> Iterator[Path]:
    """A file of it, which is whole again for the next test."""
    RunReader(recorded).check()
    found = next(iter(recorded.glob("verdicts/part-*.parquet")))
    whole = found.read_bytes()
    yield found
    found.write_bytes(whole)


def test_a_part_that_is_missing_is_named(recorded: Path, part: Path) -> None:
    part.unlink()
    with pytest.raises(CorruptRun, match=f"^{part} is missing; "):
        RunReader(recorded).check()


@pytest.mark.parametrize("keeps", [0, 40, -40])
def test_a_part_that_is_damaged_is_named(recorded: Path, part: Path, keeps: int) -> None:
    part.write_bytes(part.read_bytes()[:keeps])
    with pytest.raises(CorruptRun, match=f"^{part} is damaged"):
        RunReader(recorded).check()


def test_whatever_a_remote_file_system_raises_is_one_line(runs: Path) -> None:
    with pytest.raises(PairproofError, match=r"cannot be reached \(no route\)"), reached(runs):
        raise RuntimeError("no\n route")
    with pytest.raises(RuntimeError), reached(Path("here")):
        raise RuntimeError("ours")


def test_a_file_that_cannot_be_written_leaves_what_was_there(runs: Path) -> None:
    path = runs / "run.json"
    atomic.write_text(path, "before")

    def fails(hidden: Path) -> None:
        hidden.write_text("half")
        raise RuntimeError("gone")

    with pytest.raises(PairproofError):
        atomic.replace(path, fails)
    assert path.read_text() == "before" and [each.name for each in runs.iterdir()] == ["run.json"]
