"""Logs of a trial's processes on a finding's page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pairproof.reports import engines, inputs, logs, model, pages


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run" / "logs").mkdir(parents=True)
    return tmp_path / "run"


def write(folder: Path, name: str, text: bytes) -> Path:
    path = folder / "logs" / name
    path.write_bytes(text)
    return path


def test_only_the_logs_of_the_trial_are_told_by_node(folder: Path) -> None:
    for name in ("000007-slave2.log", "000007-master.log", "000070-master.log", "000007-names.txt"):
        write(folder, name, name.encode())
    assert [(each.node, each.text, each.left_out) for each in logs.of_trial(folder, 7)] == [
        ("master", "000007-master.log", 0), ("slave2", "000007-slave2.log", 0),
    ]  # fmt: skip
    assert logs.of_trial(folder.parent / "elsewhere", 7) == []


def test_a_long_log_is_told_by_its_end_and_many_are_cut(folder: Path) -> None:
    write(folder, "000000-master.log", b"first" + b"x" * logs.MAX_BYTES)
    (found,) = logs.of_trial(folder, 0)
    assert (found.left_out, found.text) == (5, "x" * logs.MAX_BYTES)
    for number in range(logs.MAX_LOGS + 3):
        write(folder, f"000001-slave{number}.log", b"")
    assert len(logs.of_trial(folder, 1)) == logs.MAX_LOGS


def test_a_log_cannot_bring_another_file_or_stop_the_report(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (folder / "logs" / "000000-master.log").symlink_to(secret)
    os.mkfifo(folder / "logs" / "000000-slave.log")
    (folder / "logs" / "000000-slave2.log").mkdir()
    assert logs.of_trial(folder, 0) == []


def test_what_a_page_cannot_hold_is_replaced_and_markup_escaped(write_run: Any, rows: Any, tmp_path: Path) -> None:
    finding = rows.finding("log-prefix", "differs", 0, 0)
    verdicts = [rows.verdict(0, "log-prefix", "violated", seq=1)]
    run = write_run("r", [finding], verdicts=verdicts, trials=[rows.trial(0)])
    runs, _ = inputs.open_runs([run])
    report = model.assemble(runs, (), engines.here(runs).tables)
    pages.write(report, {}, {}, tmp_path / "without")
    (run / "logs").mkdir()
    write(run, "000000-master.log", b"</pre><script>alert(1)</script>\n\x1b[31m\x00 \xff\ttab\r\n")
    pages.write(report, {}, {}, tmp_path / "with")
    bare, shown = ((tmp_path / each / "findings" / "001.html").read_text() for each in ("without", "with"))
    assert "Process logs" not in bare
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\n\ufffd[31m\ufffd \ufffd\ttab</pre>" in shown
    assert "<script>alert" not in shown and "000000-master.log" in shown
