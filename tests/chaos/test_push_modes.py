"""Diverged slaves, where slaves are sent what is only written, and none, where they get flushed bytes only.

A master that loses power keeps what was flushed. If a slave had been sent more, and the master writes past the slave's
end before the slave is back, both have histories of their own and neither can see it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pairproof.harness.judging import judge as judging
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.known.model import Known
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.trial import Trial

LAB, TARGET = resolve.lab("sim"), resolve.target("reference")
SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})


def losses(settings: Args) -> Iterator[Trial]:
    """A master under load loses power at each event in turn; when it is back it writes on before its slave can ask."""
    for events in range(0, 45, 2):
        ops = (
            *[SEND] * 4,
            Op("step", {"events": events}),
            Op("fault", {"name": "power_loss", "node": "master", "keep": "none"}),
            Op("heal", {"name": "power_loss"}),
            *[SEND] * 6,
            Op("advance", {"ms": 3_000}),
        )
        yield run_trial(LAB, TARGET, Schedule(settings, "push", ops), laws=judging.all_laws())


def is_rolled(trial: Trial) -> bool:
    """Whether a slave ever held bytes that its master had lost."""
    known = Known()
    for event in trial.events:
        if (hear := getattr(known, f"on_{event.kind}", None)) is not None:
            hear(event)
        if known.logs.diverged:
            return True
    return False


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_rollback_is_possible_where_written_bytes_are_pushed_and_impossible_where_only_flushed_ones_are(
    flush: str,
) -> None:
    rolled = {}
    for pushes in ("written", "flushed"):
        trials = list(losses({"haPushes": pushes, "flushDiskType": flush}))
        assert any(e.kind == "crash" and e.value for trial in trials for e in trial.events), "nothing was ever lost"
        assert [j.law for trial in trials for j in trial.judgements if j.verdict is Verdict.VIOLATED] == []
        rolled[pushes] = sum(map(is_rolled, trials))
    assert rolled["written"] > 0
    assert rolled["flushed"] == 0
