"""``report`` changes nothing until a whole new report stands beside the old one, and nothing at all without a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.harness.runs import atomic
from pairproof.harness.runs.reader import find_runs
from pairproof.reports import pages, replacing
from pairproof.reports.make import OWN
from pairproof.reports.replacing import NEW, replaced


def report(*arguments: object) -> int:
    return main(["report", "--engine", "local", *map(str, arguments)])


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder, hidden ones too, with what files hold."""
    return {str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None for each in folder.rglob("*")}


@pytest.fixture
def run(write_run: Any, rows: Any) -> Path:
    """A run with a report."""
    verdicts = [rows.verdict(n, "log-prefix", "holds") for n in range(20)]
    folder: Path = write_run("r", verdicts=verdicts, trials=[rows.trial(n) for n in range(20)])
    assert report(folder) == 0
    return folder


def older(folder: Path) -> None:
    facts = folder / "run.json"
    facts.write_text(facts.read_text().replace('"format": 4', '"format": 9'))


def damaged(folder: Path) -> None:
    """Its footer can be read, its rows cannot."""
    part = folder / "verdicts" / "part-00000.parquet"
    data = bytearray(part.read_bytes())
    data[8:80] = bytes(72)
    part.write_bytes(data)


@pytest.mark.parametrize("spoil", [older, damaged])
def test_run_that_cannot_be_read_leaves_its_report_as_it_was(
    run: Path, spoil: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(run)
    before = tree(run.parent)
    capsys.readouterr()
    assert report(run) == 3
    said = capsys.readouterr()
    assert said.out == "" and "nothing to report: " in said.err.splitlines()[-1]
    assert tree(run.parent) == before


def test_another_format_is_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    older(run)
    capsys.readouterr()
    assert report(run) == 3
    assert capsys.readouterr().err == (
        f"pairproof: nothing to report: {run}/run.json has format 9, this version reads 1 to 4; "
        "use the version that wrote it\n"
    )


def test_empty_folders_get_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(name).mkdir()
    assert report("a") == 3
    assert capsys.readouterr().err == (
        "pairproof: nothing to report: a/run.json is missing, so a is not a run folder; name another one\n"
    )
    assert report("a", "b", "--out", "new/report") == 3
    assert report("a", "b") == 3
    assert "; nor can 1 other be read" in capsys.readouterr().err
    assert tree(tmp_path) == {"a": None, "b": None}


@pytest.mark.parametrize("why", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_old_report_stays_when_pages_cannot_be_finished(
    run: Path, monkeypatch: pytest.MonkeyPatch, why: BaseException
) -> None:
    before = tree(run.parent)
    write = pages.write

    def crash(made: Any, histories: Any, seen: Any, out: Path, *more: Any) -> Path:
        write(made, histories, seen, out, *more)
        raise why

    monkeypatch.setattr(pages, "write", crash)
    assert report(run) in (4, 130)
    assert tree(run.parent) == before


def test_leftovers_of_killed_processes_are_removed_by_the_next_report(run: Path) -> None:
    for place in (run / "report", run.parent):
        (place / f".report.1{NEW}").mkdir()
        (place / f".report.1{NEW}" / "index.html").write_text("half")
    assert report(run) == 0
    assert report(run, "--out", run.parent / "report") == 0
    assert not list(run.parent.rglob(f"*{NEW}"))


def test_new_folder_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / f".out.1{NEW}"
    other.mkdir()
    lock = atomic.lock(other)
    assert lock is not None
    try:
        with replaced(tmp_path / "out", OWN) as new:
            (new / "index.html").write_text("x")
    finally:
        os.close(lock)
    assert other.is_dir() and (tmp_path / "out" / "index.html").read_text() == "x"


def test_report_of_a_link_is_refused_and_what_it_leads_to_stays(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "report").rename(tmp_path / "elsewhere")
    (run / "report").symlink_to(tmp_path / "elsewhere")
    before = tree(tmp_path)
    assert report(run) == 2
    assert "is a symbolic link, which a report does not follow" in capsys.readouterr().err
    assert tree(tmp_path) == before


def test_link_within_a_report_is_replaced_and_what_it_leads_to_stays(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "001.html").write_text("mine")
    (run / "report" / "tables").rename(tmp_path / "tables")
    (run / "report" / "tables").symlink_to(tmp_path / "mine")
    assert report(run) == 0
    assert not (run / "report" / "tables").is_symlink() and (tmp_path / "mine" / "001.html").read_text() == "mine"


def test_run_s_own_folder_and_a_file_take_no_report(run: Path) -> None:
    before = tree(run.parent)
    assert report(run, "--out", run) == 2
    assert tree(run.parent) == before
    with pytest.raises(UsageError, match="is a file"):
        replacing.check(run / "run.json")


def test_other_files_beside_a_report_stay_where_they_are(run: Path) -> None:
    out = run / "report"
    (out / "notes.txt").write_text("mine")
    (out / "power.html").write_text("of an earlier report")
    (out / "trials").mkdir(exist_ok=True)
    place = out.stat().st_ino, (out / "notes.txt").stat().st_ino
    assert report(run) == 0
    assert (out.stat().st_ino, (out / "notes.txt").stat().st_ino) == place
    assert "of an earlier report" not in (out / "power.html").read_text() and not (out / "trials").exists()
    assert not list(out.glob(".*"))


def test_working_directory_keeps_its_folder(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run / "report")
    Path("index.html").write_text("old")
    assert report("..", "--out", ".") == 0
    assert Path("index.html").read_text().startswith("<!doctype html>")


def test_folder_keeps_its_mode(run: Path) -> None:
    (run / "report").chmod(0o700)
    assert report(run) == 0
    assert (run / "report").stat().st_mode & 0o777 == 0o700


def test_report_and_what_is_left_of_one_are_no_runs(run: Path) -> None:
    for name in ("report-1", f".report-1.1{NEW}"):
        (run.parent / name / "trials").mkdir(parents=True)
    (run.parent / "report-1" / "report.json").touch()
    assert find_runs(run.parent) == [run]
