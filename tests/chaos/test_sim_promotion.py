"""A slave that is made the master: whose bytes are where then, what comes back, and what laws make of it."""

from __future__ import annotations

import pytest

from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

LAB = resolve.lab("sim")
HEAL = Op("heal", {"name": "promotion"})
BEHIND = Op("fault", {"name": "down", "link": "ha"})


def advance(ms: int) -> Op:
    return Op("advance", {"ms": ms})


def send(number: int, wait: bool = True) -> Op:
    return Op("send", {"producer": number, "size": 300, "wait": wait, "queue": 0})


def promotion(node: str = "slave", rejoin: str = "wiped") -> Op:
    return Op("fault", {"name": "promotion", "node": node, "rejoin": rejoin})


def execute(*ops: Op, target: str = "", laws: tuple[str, ...] | None = None, **settings: str | int) -> Trial:
    chosen = judge.all_laws() if laws is None else judge.laws(laws)
    return run_trial(LAB, resolve.target(f"reference{target}"), Schedule(settings, "promotion", ops), laws=chosen)


def of(trial: Trial, kind: str, node: str) -> list[Event]:
    return [event for event in trial.events if event.kind == kind and event.node == node]


def violated(trial: Trial) -> list[str]:
    return [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED]


def logs(trial: Trial) -> dict[str | None, int | None]:
    return {event.node: event.hi for event in trial.events if event.kind == "audit" and event.f == "final"}


def messages(trial: Trial, node: str) -> set[str | None]:
    audit = next(event.op for event in trial.events if event.kind == "audit" and event.f == "final")
    return {event.message for event in of(trial, "record", node) if (event.op or 0) >= (audit or 0)}


def test_master_goes_on_with_the_slaves_bytes_and_the_slave_begins_with_none() -> None:
    trial = execute(send(1), advance(100), promotion(), advance(100), send(2), advance(4_000), HEAL, advance(12_000))
    master, slave = of(trial, "wipe", "master"), of(trial, "wipe", "slave")
    assert [(each.f, each.detail) for each in (*master, *slave)] == [("image", "slave"), ("empty", None)]
    assert [each.f for each in of(trial, "crash", "master")] == ["process"] and len(of(trial, "stop", "slave")) == 1
    start = of(trial, "start", "master")[1]
    assert (
        start.hi == master[0].hi == max(each.hi or 0 for each in of(trial, "append", "slave") if each.seq < start.seq)
    )
    assert of(trial, "start", "slave")[1].hi == 0 and of(trial, "start", "slave")[1].t - start.t >= 4_000_000_000
    assert {"m0", "m1", "m2"} <= messages(trial, "master") and len(set(logs(trial).values())) == 1
    effect = trial.faults[0].effect
    assert effect["slaves_promoted"] == effect["processes_killed"] == 1 and effect["log_bytes_gone"] == 0


def test_what_only_the_old_master_had_is_gone_and_counted() -> None:
    trial = execute(BEHIND, send(1, wait=False), advance(50), promotion(), Op("heal", {"name": "down"}), HEAL)
    assert "m1" not in messages(trial, "master") and "m0" in messages(trial, "master")
    assert trial.faults[-1].name == "promotion" and trial.faults[-1].effect["log_bytes_gone"] > 300
    assert violated(trial) == []


def test_a_store_that_comes_back_as_it_was_is_refused_if_it_is_ahead_and_excused() -> None:
    up = Op("heal", {"name": "down"})
    behind = (BEHIND, *(send(each, wait=False) for each in (1, 2, 3)), advance(50))
    trial = execute(*behind, promotion(rejoin="stale"), up, advance(1_000), HEAL, advance(12_000))
    assert [(each.f, each.detail) for each in of(trial, "wipe", "slave")] == [("image", "master")]
    assert (of(trial, "start", "slave")[1].hi or 0) > (of(trial, "start", "master")[1].hi or 0)
    assert of(trial, "diverged", "master") and {"m1", "m2", "m3"} <= messages(trial, "slave")
    assert violated(trial) == [] and not {"m1", "m2", "m3"} & messages(trial, "master")


def test_a_store_that_comes_back_as_it_was_goes_on_if_it_is_not_ahead() -> None:
    trial = execute(send(1), advance(100), promotion(rejoin="stale"), advance(100), HEAL, advance(12_000))
    assert of(trial, "diverged", "master") == [] and len(set(logs(trial).values())) == 1 and violated(trial) == []


def test_another_slave_goes_on_at_the_new_master() -> None:
    ops = (send(1), advance(100), promotion("slave2"), advance(100), send(2), advance(12_000), HEAL, advance(12_000))
    trial = execute(*ops, **{"lab.slaves": 2})
    assert of(trial, "wipe", "slave") == [] and len(of(trial, "start", "slave")) == 1
    assert len(set(logs(trial).values())) == 1 and violated(trial) == []


@pytest.mark.parametrize("rejoin", ["wiped", "stale"])
def test_a_slave_that_is_down_can_be_promoted_too_and_a_promotion_may_follow_another(rejoin: str) -> None:
    kill = Op("fault", {"name": "kill", "node": "slave"})
    ops = (send(1), advance(100), kill, promotion(rejoin=rejoin), send(2), advance(3_000), promotion(rejoin=rejoin))
    trial = execute(*ops, advance(1_000), HEAL, HEAL, advance(6_000))
    assert len(of(trial, "wipe", "master")) == 2 and of(trial, "stop", "slave") == [] and violated(trial) == []


@pytest.mark.parametrize("point", ["append", "send", "recv", "flush"])
def test_a_promotion_in_the_middle_of_what_a_slave_is_doing_ends_that(point: str) -> None:
    arm = Op("arm", {"node": "slave", "point": point, "nth": 1, "name": "promotion", "rejoin": "wiped"})
    trial = execute(arm, send(1), advance(2_000), HEAL, advance(6_000))
    assert len(of(trial, "wipe", "master")) == 1 and of(trial, "stop", "slave") == [] and violated(trial) == []


@pytest.mark.parametrize(("target", "found"), [("", []), ("+acks_at_once", ["contract"])])
def test_what_a_slave_was_said_to_hold_must_survive_its_promotion(target: str, found: list[str]) -> None:
    stall = Op("fault", {"name": "stall", "link": "ha", "direction": "down"})
    ops = (stall, send(1), advance(50), promotion(), Op("heal", {"name": "stall"}), HEAL)
    assert violated(execute(*ops, target=target, laws=("contract",))) == found


def test_nothing_of_that_is_promised_by_a_master_that_does_not_wait_for_its_slave() -> None:
    stall = Op("fault", {"name": "stall", "link": "ha", "direction": "down"})
    ops = (stall, send(1), advance(50), promotion(), Op("heal", {"name": "stall"}), HEAL)
    trial = execute(*ops, brokerRole="ASYNC_MASTER")
    contract = next(each for each in trial.judgements if each.law == "contract")
    assert violated(trial) == [] and contract.notes["permitted_losses"] == 1


def test_a_promoted_slave_brings_its_tables_along() -> None:
    topic = Op("topic", {"number": 0, "queues": 3, "node": "master"})
    late = Op("topic", {"number": 1, "queues": 3, "node": "master"})
    cut = Op("fault", {"name": "down", "link": "meta"})
    ops = (topic, advance(31_000), cut, late, advance(100), promotion(), advance(100), Op("heal", {"name": "down"}))
    trial = execute(*ops, HEAL, advance(12_000), **{"lab.nameServer": 1})
    table = [event for event in of(trial, "table", "master") if event.f == "topics"][-1]
    assert '"t0"' in (table.detail or "") and '"t1"' not in (table.detail or "")
    assert violated(trial) == []
