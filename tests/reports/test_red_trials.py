"""From a cell of the matrix to the trials that it counts, and pages of many runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pairproof.harness.commands.main import main
from pairproof.harness.runs.reader import RunReader
from pairproof.reports import pages
from pairproof.reports.measures import MAX_FIRSTS


def test_red_trials_are_listed_and_the_matrix_leads_to_them(tmp_path: Path) -> None:
    asked = ["--target", "reference+answers_before_flush", "--trials", "60", "--seed", "s", "--law", "ack-flushed"]
    assert main(["check", *asked, "--jobs", "1", "--runs", str(tmp_path / "runs")]) == 1
    (folder,) = (tmp_path / "runs").iterdir()
    assert main(["report", str(folder), "--engine", "local", "--out", str(tmp_path / "out")]) == 1
    told = json.loads((tmp_path / "out" / "report.json").read_text())
    rows, counted = told["broken"], told["by_run"][0]["violated"]
    assert len(rows) == MAX_FIRSTS < counted
    stored = sorted(row["trial"] for row in RunReader(folder).verdicts() if row["verdict"] == "violated")
    assert [row["trial"] for row in rows] == stored[:MAX_FIRSTS]
    assert all(row["text"] and row["origin"] and row["seq"] is not None for row in rows)
    index, page = ((tmp_path / "out" / name).read_text() for name in ("index.html", "trials.html"))
    assert f'<a href="trials.html#{folder.name}-ack-flushed">{counted}</a> of' in index
    assert (
        f'id="{folder.name}-ack-flushed"' in page and page[: page.index('id="kept"')].count("</tr>") == 1 + MAX_FIRSTS
    )


def test_of_many_runs_some_are_told_law_by_law(write_run: Any, rows: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(pages, "MAX_DETAILED", 2)
    monkeypatch.setattr(pages, "MAX_RUNS", 3)
    verdicts = ["holds", "violated", "holds", "holds"]
    folders = [
        write_run(f"r{number}", verdicts=[rows.verdict(0, "log-prefix", verdict)], trials=[rows.trial(0)])
        for number, verdict in enumerate(verdicts)
    ]
    assert main(["report", *map(str, folders), "--engine", "local", "--out", str(tmp_path / "out")]) == 1
    page = (tmp_path / "out" / "runs.html").read_text()
    assert page.count("<section") == 2 and '<section id="r1">' in page
    assert page.count("<tr><th>") >= 3 and "1 more are in report.json only" in page
