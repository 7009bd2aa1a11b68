"""Administrators make, delete and make again topics and groups in the simulation: each step takes effect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.template import advance
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

LAW = "meta-as-administered"
KILL = Op("fault", {"name": "kill", "node": "master"})


def recreate(what: str, steps: int, number: int = 0, node: str = "master") -> Op:
    return Op("recreate", {"what": what, "number": number, "steps": steps, "node": node})


def played(*ops: Op, target: str = "reference", **settings: Any) -> tuple[list[Event], dict[str, int], set[str]]:
    """A trial's events, how often each law judged, and which laws were violated."""
    schedule = Schedule({"lab.nameServer": 1, **settings}, "seed", ops)
    trial = run_trial(resolve.lab("sim"), resolve.target(target), schedule)
    judged = {each.law: each.judged for each in trial.judgements}
    return list(trial.events), judged, {each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED}


def table(events: list[Event], f: str, node: str) -> dict[str, Any]:
    """What was read of it last."""
    read = [each.detail for each in events if each.kind == "table" and (each.f, each.node) == (f, node)]
    found: dict[str, Any] = json.loads(read[-1] or "{}")
    return found


@pytest.mark.parametrize("what", ["topic", "group"])
def test_what_is_made_deleted_and_made_again_is_so_at_master_and_slave(what: str) -> None:
    name, field = ("a0", "writeQueueNums") if what == "topic" else ("ga0", "brokerId")
    values = (4, None, 1) if what == "topic" else (1, None, 0)
    for steps, value in enumerate(values, 1):
        events, judged, violated = played(recreate(what, steps), advance(21_000))
        assert not violated and judged[LAW]
        for node in ("master", "slave"):
            assert table(events, f"{what}s", node).get(name, {}).get(field) == value
        assert sum(each.kind == "ok" and each.message == name for each in events) == steps


def test_a_slave_refuses_each_step() -> None:
    events, judged, violated = played(recreate("group", 3, node="slave"), advance(1_000))
    assert sum(each.kind == "fail" and each.message == "ga0" for each in events) == 3
    assert not violated and judged["role-slave-read-only"] >= 3
    assert "role-slave-read-only" in played(recreate("topic", 2, node="slave"), target="reference+takes_changes")[2]


def test_neighbours_are_judged_and_restarts_change_nothing() -> None:
    assert not played(recreate("topic", 1), recreate("topic", 2, 1), advance(1_000), KILL, advance(21_000))[2]
    neighbours = (recreate("topic", 1), advance(1_000), recreate("topic", 2, 1), advance(1_000))
    assert LAW in played(*neighbours, target="reference+deletes_neighbour")[2]


def test_what_cannot_be_remade_is_refused_with_what_can() -> None:
    with pytest.raises(UsageError, match="a topic or a group, not 'table'"):
        resolve.operations()["recreate"].arguments["what"].check("table")  # type: ignore[misc]


def changed(op: str, **args: Any) -> Op:
    usual = {"topic": {"number": 0, "queues": 4}, "group": {"group": 0, "slowly": 1, "broker": 0}}[op]
    return Op(op, {**usual, "node": "master", **args})


SEND, JOIN = Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 1}), Op("join", {"group": 0, "consumer": 0})


def test_an_administrator_changes_every_field_of_what_is_in_use() -> None:
    closed = changed("topic", used=True, queues=2, reads=3, perm=4)
    settings = {"enabled": False, "retry_queues": 4, "retries": 3, "from_min": False, "broadcasting": False}
    ops = (JOIN, SEND, advance(6_000), closed, changed("group", notified=False, **settings), advance(21_000))
    events, judged, violated = played(*ops)
    assert not violated and judged["config-applied"]
    for node in ("master", "slave"):
        topic, group = table(events, "topics", node)["pairproof"], table(events, "groups", node)["g0"]
        assert (topic["writeQueueNums"], topic["readQueueNums"], topic["perm"]) == (2, 3, 4)
        found = [group["consumeEnable"], group["retryQueueNums"], group["retryMaxTimes"], group["consumeFromMinEnable"]]
        assert found == [False, 4, 3, False]
        assert not group["consumeBroadcastEnable"] and not group["notifyConsumerIdsChangedEnable"]
    assert any(each.kind == "fail" and each.status == "NO_PERMISSION" and each.group == "g0" for each in events)


def test_a_program_without_the_newer_arguments_plays_as_before() -> None:
    newer = played(changed("topic", reads=0, perm=6, used=False), advance(1_000))[0]
    assert [each for each in newer if each.f == "topic"] == [
        each for each in played(changed("topic"), advance(1_000))[0] if each.f == "topic"
    ]


@pytest.mark.parametrize("what", ["topic", "group"])
def test_what_clients_use_is_deleted_and_made_again(what: str) -> None:
    again = Op("recreate", {"what": what, "number": 0, "steps": 3, "node": "master", "used": True})
    events, _, violated = played(JOIN, SEND, advance(6_000), again, advance(1_000), SEND, advance(60_000))
    assert not violated
    name = "pairproof" if what == "topic" else "g0"
    asked = [each.f for each in events if each.kind == "ok" and each.message == name]
    assert asked == [what, f"delete-{what}", what]
