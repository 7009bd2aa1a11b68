"""A broker notes how far its queues are durable, also where an earlier look has flushed the last of them."""

from __future__ import annotations

import pytest

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.template import advance, send
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule


@pytest.mark.parametrize("sends", [1, 2, 3, 4])
def test_queues_whose_last_file_is_full_are_noted_in_the_next_thorough_look(sends: int) -> None:
    """A file takes two messages, and a full one is flushed at any look: then nothing is left for the thorough one."""
    ops = (*(send(0) for _ in range(sends)), advance(141_000))
    schedule = Schedule({"mappedFileSizeConsumeQueue": 40}, "checkpoint", ops)
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), schedule)
    verdicts = {each.law: each.verdict for each in trial.judgements}
    assert verdicts["queue-checkpoint"] is Verdict.HOLDS
