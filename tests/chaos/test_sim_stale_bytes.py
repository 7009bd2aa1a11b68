"""Bytes that a recovery leaves behind its cut, as RocketMQ's does, come back as records when the log has grown up to
them.

Too rare for a search: a sector must be lost in front of whole records, one record of the same size must take the
damaged one's place, and the broker must start once more. So the program is given.
"""

from __future__ import annotations

import pytest

from pairproof.chaos.labs.sim.lab import LAB
from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.chaos.targets.reference import TARGET, ReferenceTarget
from pairproof.harness.judging.judge import laws
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.recovery import LogRecovery


class KeepsTail(LogRecovery):
    """Moves the log's end only."""

    def cut(self, end: int) -> int:
        """Delete later files, erase nothing."""
        files = self.files
        files._delete_from(max(files.start, end - end % files.file_size) + files.file_size)
        files.end = end
        return end


class Log(CommitLog):
    """A log that is recovered so."""

    recovery_class = KeepsTail


def send(producer: int) -> Op:
    return Op("send", {"producer": producer, "size": 900, "wait": False, "queue": 0})


LOST_SECTOR = Op("fault", {"name": "power_loss", "node": "master", "keep": "hole"})
PROGRAM = (
    *[send(0)] * 5,
    Op("advance", {"ms": 3}),
    LOST_SECTOR,
    Op("heal", {"name": "power_loss"}),
    # Its first connection died with the machine.
    send(1),
    Op("advance", {"ms": 30}),
    Op("fault", {"name": "kill", "node": "master"}),
)


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (TARGET, Verdict.HOLDS),
        (ReferenceTarget((Mutant("keeps_tail", "master", with_parts(log_class=Log), "log-no-resurrection", ""),)),
         Verdict.VIOLATED),
    ],
    ids=["erased", "left-behind"],
)  # fmt: skip
def test_bytes_behind_a_cut_come_back_unless_they_are_erased(target: ReferenceTarget, verdict: Verdict) -> None:
    schedule = Schedule({"mappedFileSizeCommitLog": 65_536}, "stale", PROGRAM)
    trial = run_trial(LAB, target, schedule, laws=laws(["log-no-resurrection"]))
    assert [each.verdict for each in trial.judgements] == [verdict]
