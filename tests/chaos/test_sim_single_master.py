"""A master without slaves in the simulation: it warms up, is read alone at each audit, and settles."""

from __future__ import annotations

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import topology
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Scalar, Schedule
from pairproof.harness.trials.trial import Trial

LAB, TARGET = resolve.lab("sim"), resolve.target("reference")
SENDS = tuple(Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0}) for _ in range(5))
ADVANCE = Op("advance", {"ms": 1_000})


def played(*ops: Op, **settings: Scalar) -> Trial:
    alone = {"lab.slaves": 0, "brokerRole": "ASYNC_MASTER", **settings}
    return run_trial(LAB, TARGET, Schedule(alone, "alone", (*SENDS, ADVANCE, *ops)))


def statuses(trial: Trial) -> set[str | None]:
    return {each.status for each in trial.events if each.kind == "ok" and each.f == "send"}


def test_a_single_master_serves_alone_and_nothing_is_violated() -> None:
    trial = played(Op("fault", {"name": "kill", "node": "master"}), ADVANCE, Op("heal", {"name": "kill"}))
    assert statuses(trial) == {"PUT_OK"}
    assert {each.node for each in trial.events if each.kind == "config"} == {"master"}
    broken = [each.law for each in trial.judgements if each.verdict in (Verdict.VIOLATED, Verdict.UNKNOWN)]
    assert broken == []


def test_its_store_is_read_at_the_end_and_told_once() -> None:
    events = played().events
    audits = [each for each in events if each.kind == "audit"]
    assert [(each.node, each.f) for each in audits] == [("master", "final")]
    found = [each.message for each in events if each.kind == "record" and each.message]
    assert len(found) == len(set(found)) >= len(SENDS)
    for kind in ("entries", "keys"):
        told = [(each.queue, each.message) for each in events if each.kind == kind]
        assert told and len(told) == len(set(told))


def test_a_sync_master_without_slaves_says_that_there_is_none() -> None:
    assert statuses(played(brokerRole="SYNC_MASTER")) == {"SLAVE_NOT_AVAILABLE"}


def test_places_of_slaves_give_way_to_the_master_s() -> None:
    settings: dict[str, Scalar] = {"lab.slaves": 0}
    for name in ("slave", "slave3"):
        assert topology.within({"node": name}, settings) == {"node": "master"}
    for name in ("ha2", "meta", "client-slave", "names-slave"):
        assert topology.within({"link": name}, settings) == {"link": "client-master"}
    with pytest.raises(UsageError, match="there is no node 'slave' in this trial; valid: master"):
        played(Op("fault", {"name": "kill", "node": "slave"}))
