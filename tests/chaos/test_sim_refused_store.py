"""A broker that refuses its store ends again, as its process would: the trial goes on without it, and says so."""

from __future__ import annotations

import pytest

from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import Interpreter

LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")
BEHIND_A_GAP = f"commitlog/{8_192:020d}"
FILE_SIZE = 2_048


@pytest.mark.parametrize("removed", [True, False], ids=["remedied", "left"])
def test_a_broker_with_a_gap_in_its_log_comes_up_only_when_the_gap_is_gone(removed: bool) -> None:
    session = LAB.open(REFERENCE, REFERENCE.settings({"mappedFileSizeCommitLog": FILE_SIZE}), "gap")
    session.warm_up()
    session.on_nodes.kill("slave")
    session.world.hosts["slave"].disk.place(BEHIND_A_GAP, bytes(FILE_SIZE))
    session.on_nodes.restart("slave")
    assert session.driver.readings.broker("slave") is None
    if removed:
        session.world.hosts["slave"].disk.delete(BEHIND_A_GAP)
    Interpreter(session, resolve.faults()).heal()
    session.settle()
    assert (session.driver.readings.broker("slave") is not None) is removed
    starts = [event for event in session.recorder.events if event.kind == "start" and event.node == "slave"]
    assert len(starts) == 1 + removed
    refused = [event for event in session.recorder.events if event.kind == "abort"]
    assert len(refused) == 2 - removed and all(each.f == "refused" and "gap" in str(each.detail) for each in refused)
    laws = judge.laws(["live-converges", "node-lives"])
    converges, lives = judge.judge(session.recorder.events, laws, LAB.observes(REFERENCE))
    # Nothing in the history excuses it; that it does not converge is no second finding.
    assert lives.verdict is Verdict.VIOLATED
    assert converges.verdict is (Verdict.HOLDS if removed else Verdict.VACUOUS)
