"""One slave with a half-open connection behind it, in the simulated lab: two replicas only to the mutant."""

from __future__ import annotations

import pytest

from pairproof.chaos.mutants.acks import SENDERS_WAIT
from pairproof.chaos.mutants.master import WAKES_FOR_NOTHING
from pairproof.chaos.mutants.replicas import COUNTS_CONNECTIONS
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

SETTINGS = {
    "rocketmqVersion": "5.5.0",
    "inSyncReplicas": 3,
    "lab.slaves": 2,
    "haSendHeartbeatInterval": 500,
    "mappedFileSizeCommitLog": 65_536,
}
OPS = (
    # The second slave cannot report; the first one does, then its master's words no longer reach it, so nobody resets
    # the connection that its power loss leaves behind; it comes back and reports the same message again.
    Op("fault", {"name": "timeout", "link": "ha2", "direction": "up", "ms": 0}),
    Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),
    Op("advance", {"ms": 50}),
    Op("fault", {"name": "timeout", "link": "ha", "direction": "down", "ms": 0}),
    Op("fault", {"name": "power_loss", "node": "slave", "keep": "all"}),
    Op("advance", {"ms": 100}),
    Op("heal", {"name": "power_loss"}),
    Op("advance", {"ms": 2_500}),
)


@pytest.mark.parametrize(
    ("target", "broken"),
    [(ReferenceTarget(), []), (ReferenceTarget((COUNTS_CONNECTIONS,)), [COUNTS_CONNECTIONS.law])],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_slave_that_comes_back_is_no_second_replica(target: ReferenceTarget, broken: list[str]) -> None:
    trial = run_trial(resolve.lab("sim"), target, Schedule(SETTINGS, "half-open", OPS), origin="test")
    assert [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED] == broken


@pytest.mark.parametrize(
    ("target", "broken"),
    [(ReferenceTarget(), []), (ReferenceTarget((WAKES_FOR_NOTHING,)), [WAKES_FOR_NOTHING.law])],
    ids=lambda value: getattr(value, "name", None),
)
def test_up_to_4_5_2_a_slave_s_heartbeats_end_no_send(target: ReferenceTarget, broken: list[str]) -> None:
    settings = {"rocketmqVersion": "4.4.0", "brokerRole": "SYNC_MASTER", "haSendHeartbeatInterval": 500}
    ops = (
        Op("fault", {"name": "stall", "link": "ha", "direction": "down"}),
        Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),
        Op("advance", {"ms": 6_000}),
    )
    trial = run_trial(resolve.lab("sim"), target, Schedule(settings, "heartbeats", ops), origin="test")
    assert [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED] == broken


@pytest.mark.parametrize(
    ("target", "broken"),
    [(ReferenceTarget(), []), (ReferenceTarget((SENDERS_WAIT,)), [SENDERS_WAIT.law])],
    ids=lambda value: getattr(value, "name", None),
)
def test_up_to_4_5_2_nobody_waits_for_its_turn_beyond_the_timeout(target: ReferenceTarget, broken: list[str]) -> None:
    settings = {"rocketmqVersion": "4.4.0", "brokerRole": "SYNC_MASTER", "syncFlushTimeout": 2_000}
    ops = (
        Op("fault", {"name": "stall", "link": "ha", "direction": "up"}),
        *4 * (Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),),
        Op("advance", {"ms": 9_000}),
    )
    trial = run_trial(resolve.lab("sim"), target, Schedule(settings, "turns", ops), origin="test")
    assert [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED] == broken
