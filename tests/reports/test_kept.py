"""Pages of kept trials: which they are, and what is drawn on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pairproof.harness.commands.main import main
from pairproof.reports import kept
from pairproof.reports.commands.report import command


def row(trial: int, seed: str = "s", events: int = 100) -> dict[str, Any]:
    return {"run": "r", "trial": trial, "origin": "swarm", "seed": seed, "events": events}


def test_each_scenario_comes_first_then_others_as_far_as_events_go() -> None:
    played = [{"run": "r", "name": "kill"}, {"run": "r", "name": "lag"}]
    rows = [row(0), row(1, "s/kill/0/0"), row(2, "s/kill/1/0"), row(3, "s/lag/0/0"), row(4), row(5)]
    found = kept.chosen(rows, played, {("r", 4)}, 20_000)
    assert [(each["trial"], each["scenario"]) for each in found] == [(1, "kill"), (3, "lag"), (0, ""), (5, "")]
    many = kept.chosen([row(number, events=90_000) for number in range(30)], [], set(), 20_000)
    assert len(many) == kept.MAX_EVENTS // 20_000
    assert len(kept.chosen([row(number) for number in range(500)], [], set(), 20_000)) == kept.MAX_PAGES


def test_a_green_scenario_has_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["chaos", "run", "master-kill-under-load", "--lab", "sim", "--seed", "s"]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    done = CliRunner().invoke(command, [str(run), "--engine", "local", "--out", "out"])
    assert done.exit_code == 0, done.output
    (page,) = (tmp_path / "out" / "trials").iterdir()
    told = page.read_text()
    assert "Trial 0 of master-kill-under-load" in told and "Send latency" in told
    assert f'href="trials/{page.name}"' in (tmp_path / "out" / "runs.html").read_text()
    assert page.name in (tmp_path / "out" / "trials.html").read_text()
