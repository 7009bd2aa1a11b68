"""A guard against trials that get slower: function calls are counted, not seconds, so a busy machine changes nothing.

``calls.json`` says how many a trial of each search needs. Where more are meant, say so in the commit that remakes it:
    .venv/bin/python tests/harness/test_cost.py
"""

from __future__ import annotations

import cProfile
import json
import pstats
import sys
from pathlib import Path

import pytest

from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.rocketmq.laws.storage.log_prefix import LogPrefix
from pairproof.harness.search import sweep
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule

FILE = Path(__file__).with_name("calls.json")
SLOWER = 1.3
"""How many times as many are too many; and as few as this once more say that the file is old."""
SIM, REFERENCE = resolve.lab("sim"), resolve.target("reference")
TRIALS = 12


def schedules(search: str) -> list[Schedule]:
    if search == "sweep":
        return sweep.schedules(SIM, REFERENCE, "cost")[:TRIALS]
    make = {"swarm": swarm, "cluster": cluster}[search].schedule
    # The first ones are listed.
    return [make("cost", number, SIM) for number in range(100, 100 + TRIALS)]


def calls(search: str) -> float:
    """Function calls of a trial, when all that is kept between trials is known."""
    played = schedules(search)
    for each in played:
        run_trial(SIM, REFERENCE, each)
    profile = cProfile.Profile()
    profile.enable()
    for each in played:
        run_trial(SIM, REFERENCE, each)
    profile.disable()
    found: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return found / len(played)


def too_many(search: str) -> str:
    """What is wrong with the number of calls; empty if nothing is."""
    found, known = calls(search), json.loads(FILE.read_text())[search]
    if known / SLOWER <= found <= known * SLOWER:
        return ""
    return f"a trial of the {search} takes {found:,.0f} calls, {found / known:.2f} times those of {FILE.name}"


@pytest.mark.parametrize("search", ["sweep", "swarm", "cluster"])
def test_no_trial_needs_a_third_more_calls_than_it_did(search: str) -> None:
    assert too_many(search) == ""


def test_a_law_that_goes_through_all_that_was_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(self: Law, *event: object) -> None:
        for _ in range(3_000):
            len(())

    for name in ("on_chunk", "on_append"):
        monkeypatch.setattr(LogPrefix, name, look, raising=False)
    assert "times those of calls.json" in too_many("sweep")


if __name__ == "__main__":
    FILE.write_text(
        json.dumps({search: round(calls(search)) for search in ("sweep", "swarm", "cluster")}, indent=1) + "\n"
    )
    sys.stdout.write(FILE.read_text())
