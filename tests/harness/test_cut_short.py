"""A history that was cut short decides nothing: whoever was not seen to break a law may have done so later."""

from __future__ import annotations

import pytest

from pairproof.harness.history import Recorder
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

SCHEDULE = Schedule({}, "s", (Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),))


@pytest.mark.parametrize(("limit", "unknown"), [(30, True), (2_000_000, False)])
def test_dropped_events_make_every_law_unknown(monkeypatch: pytest.MonkeyPatch, limit: int, unknown: bool) -> None:
    monkeypatch.setattr("pairproof.chaos.labs.sim.world.Recorder", lambda: Recorder(limit))
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), SCHEDULE)
    found = {each.verdict for each in trial.judgements}
    assert (Verdict.HOLDS not in found) == unknown
    assert (Verdict.UNKNOWN in found) == unknown
    if unknown:
        assert "cut short" in str(trial.judgements[0].doubt)
