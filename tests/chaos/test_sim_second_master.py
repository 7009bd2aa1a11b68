"""Tests of a second master in the simulation: its start and end, its registrations, and the sends of producers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pairproof.chaos.labs.real.world import World
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.template import advance, fault, heal, send
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

LAB, REFERENCE = resolve.lab("sim"), resolve.target("reference")
SETTINGS = {"lab.nameServer": 1, "lab.others": 2, "brokerRole": "ASYNC_MASTER"}
PRODUCE = Op("produce", {"producer": 0, "how": "turn", "wait": False, "queue": 0})


def second(ends: str = "stop") -> Op:
    return fault("second_master", node="slave", ends=ends)


def execute(*ops: Op, **settings: str | int) -> Trial:
    return run_trial(LAB, REFERENCE, Schedule({**SETTINGS, **settings}, "two", ops), laws=judge.laws_for(REFERENCE))


def of(trial: Trial, kind: str, node: str) -> list[Event]:
    return [event for event in trial.events if event.kind == kind and event.node == node]


def named(trial: Trial) -> list[str | None]:
    """The master of each read table of the name server."""
    return [json.loads(each.detail or "{}").get("broker-a", {}).get("0") for each in of(trial, "table", "names")]


def violated(trial: Trial) -> list[str]:
    return [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED]


def test_the_second_master_has_the_slaves_log_and_its_own_address() -> None:
    trial = execute(
        send(0), PRODUCE, advance(100), fault("kill", node="master"), second(), advance(31_000), PRODUCE, advance(10)
    )
    (image,), (start,), (stopped,) = of(trial, "wipe", "other"), of(trial, "start", "other"), of(trial, "stop", "slave")
    assert image.detail == "slave" and stopped.seq < image.seq < start.seq
    assert start.hi == max(each.hi or 0 for each in of(trial, "append", "slave") if each.seq < start.seq)
    assert trial.faults[1].effect["masters_added"] == 1 and violated(trial) == []
    assert [each.status for each in of(trial, "ok", "other")] == ["PUT_OK"]
    assert of(trial, "append", "other")[-1].message == "m3"
    assert of(trial, "start", "slave")[1].seq > start.seq and len(of(trial, "stop", "other")) == 1


def test_both_take_the_place_by_turns_and_producers_follow_the_newest_route() -> None:
    sends = [step for _ in range(6) for step in (advance(11_000), PRODUCE)]
    trial = execute(PRODUCE, second(), *sends)
    assert {"master", "other"} <= set(named(trial))
    assert {each.node for each in trial.events if each.kind == "try"} == {"master", "other"}
    held = {each.law for each in trial.judgements if each.verdict is Verdict.HOLDS}
    assert violated(trial) == [] and {"route-last-master", "producer-tries", "route-expiry"} <= held


@pytest.mark.parametrize(("ends", "left"), [("stop", None), ("kill", "master")])
def test_an_orderly_end_empties_the_place_whoever_has_it(ends: str, left: str | None) -> None:
    """The master took it back 28 s after the other one had come."""
    trial = execute(advance(12_000), second(ends), advance(29_000), heal("second_master"), advance(100))
    assert named(trial)[1] == "master" and named(trial)[2] == left
    assert named(trial)[-1] == "master" and violated(trial) == []


def test_the_slave_is_down_meanwhile_and_the_second_master_only_runs_in_the_fault() -> None:
    slave, other = fault("kill", node="slave"), fault("kill", node="other")
    trial = execute(other, heal("kill"), slave, second(), heal("kill"), advance(100), second(), other, heal("kill"))
    starts = [each for each in trial.events if each.kind == "start" and each.node in ("slave", "other")]
    assert [each.node for each in starts] == ["slave", "other", "other", "slave"]
    assert violated(trial) == []


def test_without_the_setting_there_is_none() -> None:
    for others in (0, 1):
        trial = execute(second(), advance(1_000), **{"lab.others": others})
        assert trial.faults[0].effect == {} and len(of(trial, "start", "other")) == others
    with pytest.raises(UsageError, match=r"lab\.others=2 needs one slave"):
        execute(**{"lab.slaves": 2})


def test_labs_of_processes_refuse_it() -> None:
    plan = REFERENCE.plan(REFERENCE.settings(SETTINGS))  # type: ignore[attr-defined]
    assert [each.name for each in plan.nodes if each.waits] == ["other"]
    environment: Any = None
    with pytest.raises(UsageError, match=r"only a simulated lab starts other later: leave lab\.others=2 out"):
        World(environment, plan, SETTINGS, "two")
