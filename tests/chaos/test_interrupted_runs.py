"""An interrupt, whenever it comes, leaves no run behind that seems to go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.scenarios import watch
from pairproof.harness.campaign.campaign import Campaign
from pairproof.harness.commands import output
from pairproof.harness.commands.main import main
from pairproof.harness.errors import EXIT_INTERRUPTED
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.runs.writer import RunWriter

WHY = "ended by SIGTERM"
CHECK = ("check", "--trials", "2", "--law", "log-prefix")
CAMPAIGN = ("campaign", "--engine", "local", "--trials", "100", "--jobs", "1", "--law", "log-prefix")
SCENARIO = ("chaos", "run", "clock-jumps", "--lab", "sim")


def interrupt(*given: Any, **named: Any) -> None:
    raise KeyboardInterrupt(WHY)


def after(function: Callable[..., Any]) -> Callable[..., Any]:
    def runs(*given: Any, **named: Any) -> None:
        function(*given, **named)
        interrupt()

    return runs


@pytest.mark.parametrize(("command", "where", "name", "by"), [
    (CHECK, RunWriter, "_write_facts", "after the first"),
    (CHECK, RunWriter, "_make_folders", after(RunWriter._make_folders)),
    (CHECK, output, "progress", interrupt),
    (CHECK, Explorer, "__init__", interrupt),
    (CHECK, Explorer, "run", interrupt),
    (CHECK, Explorer, "summary", interrupt),
    (CHECK, RunWriter, "coverage", interrupt),
    (CAMPAIGN, output, "progress", interrupt),
    (CAMPAIGN, Campaign, "lead", interrupt),
    (SCENARIO, watch, "watching", interrupt),
])  # fmt: skip
def test_a_run_that_is_interrupted_says_so(
    command: tuple[str, ...], where: Any, name: str, by: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "after the first":
        original, calls = getattr(where, name), []

        def by(self: RunWriter) -> None:
            original(self)
            calls.append(1)
            if len(calls) == 1:
                interrupt()

    monkeypatch.setattr(where, name, by)
    assert main([*command, "--runs", str(tmp_path)]) == EXIT_INTERRUPTED
    (run,) = tmp_path.glob("*/run.json")
    facts = json.loads(run.read_text())
    assert (facts["state"], facts["reason"]) == ("interrupted", WHY)
