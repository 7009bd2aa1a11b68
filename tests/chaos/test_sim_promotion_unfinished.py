"""A slave that is stopped and promoted in the middle of a record does not take the half of it for whole."""

from __future__ import annotations

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

# After five events the slave holds all of the record but the end of its properties, which no checksum covers.
PROGRAM = (
    Op("send", {"producer": 1, "size": 400, "wait": True, "queue": 0}),
    Op("step", {"events": 5}),
    Op("fault", {"name": "promotion", "node": "slave", "rejoin": "stale"}),
)


def test_a_slave_promoted_in_the_middle_of_a_record_does_not_keep_the_half_of_it() -> None:
    schedule = Schedule({"brokerRole": "ASYNC_MASTER"}, "ci1", PROGRAM)
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), schedule)
    assert [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED] == []
