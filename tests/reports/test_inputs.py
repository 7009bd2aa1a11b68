"""Damaged run folders are named and left out; a name that was mistyped is not taken for a damaged run."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.runs import schema
from pairproof.reports import engines, inputs


@pytest.fixture
def good(write_run: Any, rows: Any) -> Path:
    folder: Path = write_run("good", verdicts=[rows.verdict(0, "log-prefix", "holds")], trials=[rows.trial(0)])
    return folder


@pytest.fixture
def bad(write_run: Any, rows: Any) -> Path:
    history = [{"trial": 0} | Event(seq, seq, "mark", f="warm")._asdict() for seq in range(5_000)]
    tables = {"verdicts": [rows.verdict(0, "log-prefix", "holds")], "trials": [rows.trial(0)], "history": history}
    folder: Path = write_run("bad", **tables)
    return folder


def cut(folder: Path) -> None:
    part = folder / "verdicts" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-40])


def no_facts(folder: Path) -> None:
    (folder / "run.json").unlink()


def other_format(folder: Path) -> None:
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace(f'"format": {schema.FORMAT}', '"format": 99'))


def no_target(folder: Path) -> None:
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"target"', '"aim"'))


def other_history(folder: Path) -> None:
    part = folder / "history" / "part-00000.parquet"
    pq.write_table(pq.read_table(part).drop_columns(["kind"]), part)


def flipped(folder: Path) -> None:
    part = folder / "verdicts" / "part-00000.parquet"
    data = bytearray(part.read_bytes())
    # Of its first page, which the footer says nothing of.
    data[60:90] = bytes(each ^ 0xFF for each in data[60:90])
    part.write_bytes(data)


@pytest.mark.parametrize("counts", [engines.here, pytest.param(None, marks=pytest.mark.slow)])
def test_a_page_that_is_damaged_is_met_by_who_counts_it(good: Path, bad: Path, counts: Any, request: Any) -> None:
    alone = engines.here(inputs.open_runs([good])[0], False)
    flipped(bad)
    runs, corrupt = inputs.open_runs([bad, good])
    assert len(runs) == 2 and not corrupt
    if counts is None:
        counts = partial(engines.on_spark, request.getfixturevalue("spark"))
    found = counts(runs, False)
    assert [run.run for run in found.runs] == ["good"]
    (told,) = found.corrupt
    assert told.folder == str(bad) and "bad/verdicts/part-00000.parquet is damaged" in told.reason
    assert {name: each.to_pylist() for name, each in found.tables.items()} == {
        name: each.to_pylist() for name, each in alone.tables.items()
    }


@pytest.mark.parametrize("damage", [cut, no_facts, other_format, no_target, other_history])
def test_a_damaged_run_is_named_in_one_line_and_the_others_stay(good: Path, bad: Path, damage: Any) -> None:
    assert len(inputs.open_runs([good, bad])[0]) == 2
    damage(bad)
    runs, corrupt = inputs.open_runs([bad, good])
    assert [run.run for run in runs] == ["good"]
    assert [each.folder for each in corrupt] == [str(bad)]
    assert "\n" not in corrupt[0].reason and "bad/" in corrupt[0].reason


def test_a_copy_of_a_run_is_not_counted_twice(good: Path) -> None:
    copy = good.parent / "copied" / good.name
    shutil.copytree(good, copy)
    runs, corrupt = inputs.open_runs([good, copy, good])
    assert len(runs) == 1
    assert "leave one out" in corrupt[0].reason


def test_a_folder_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        inputs.open_runs([tmp_path / "typo"])
