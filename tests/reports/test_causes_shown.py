"""The pages group findings by cause, and say which verdicts rest on little."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pairproof.reports import engines, inputs, model, overview, pages


def write(folders: list[Path], out: Path) -> Path:
    runs, corrupt = inputs.open_runs(folders)
    return pages.write(model.assemble(runs, corrupt, engines.here(runs).tables), {}, {}, out)


def main_of(page: Path) -> str:
    text = page.read_text()
    return " ".join(text[text.index("<main>") :].split())


def test_one_card_names_all_laws_of_a_cause_with_one_replay_and_one_autopsy_line(
    write_run: Any, rows: Any, tmp_path: Path
) -> None:
    laws = ("contract", "log-grows", "log-prefix")
    findings = [rows.finding(law, f"{law} broke", 1, 2, cause="log-prefix, append at slave") for law in laws]
    findings.append(rows.finding("contract", "again", 3, 4, cause="log-prefix, append at slave", program=["other"]))
    verdicts = [rows.verdict(2, law, "violated", seq=1) for law in laws]
    index = write([write_run("r", findings, verdicts=verdicts, trials=[rows.trial(2)])], tmp_path / "out")
    main = main_of(index)
    assert main.count('class="card"') == 1 and "What broke: 1 cause, 4 findings" in main
    card = main[main.index('class="card"') : main.index('id="trials"')]
    assert 'href="findings/003.html">log-prefix broke' in card
    assert re.findall(r'class="law" href="findings/(\d+)\.html">([a-z-]+)<', card) == [
        ("001", "contract"), ("002", "log-grows"),
    ]  # fmt: skip
    assert card.count("pairproof replay") == 1 and len(re.findall(r"autopsy \S+findings/0003\.json", card)) == 1
    assert 'href="findings/004.html">finding 4' in card
    again = main_of(tmp_path / "out" / "findings" / "001.html")
    assert re.findall(r'class="law" href="(\d+)\.html">([a-z-]+)<', again) == [
        ("003", "log-prefix"),
        ("002", "log-grows"),
    ]


def test_a_law_with_little_evidence_is_named_first_and_runs_of_one_target_stand_apart(
    write_run: Any, rows: Any, tmp_path: Path
) -> None:
    trials = [rows.trial(n) for n in range(30)]
    thin = [rows.verdict(n, "contract", "vacuous" if n else "holds") for n in range(30)]
    thick = [rows.verdict(n, "log-prefix", "holds") for n in range(30)]
    done = {"origin": "sweep", "what": "single faults at every event", "done": 3, "of": 9, "complete": False}
    folders = [write_run(f"r{n}", facts={"searches": [done]}, verdicts=[*thin, *thick], trials=trials) for n in (1, 2)]
    main = main_of(write(folders, tmp_path / "out"))
    first = main[main.index('id="caveats"') : main.index('id="trials"')]
    assert "<b>1 law on little evidence</b>" in first and "contract (1)" in first and "log-prefix" not in first
    matrix = main[main.index('id="laws"') :]
    assert all(f'href="runs.html#r{n}"' in matrix for n in (1, 2)) and matrix.count("judged in 1 of 30 trials") == 2


def test_the_matrix_has_the_newest_runs_and_says_how_many_are_older(write_run: Any, rows: Any, tmp_path: Path) -> None:
    began = [f"2026-11-{day:02}T00:00:00+00:00" for day in range(1, overview.MAX_COLUMNS + 4)]
    holds = [rows.verdict(0, "contract", "holds")]
    folders = [
        write_run(f"r{n}", facts={"began": when}, verdicts=holds, trials=[rows.trial(0)])
        for n, when in enumerate(began)
    ]
    main = main_of(write(folders, tmp_path / "out"))
    matrix = main[main.index('id="laws"') :]
    assert "3 more runs are on the" in matrix
    assert 'href="runs.html#r2"' not in matrix[: matrix.index("</table>")] and 'href="runs.html#r3"' in matrix
