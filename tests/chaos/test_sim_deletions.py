"""Administrators who delete topics and groups, and are in no history: no law accuses a broker of what they did."""

from __future__ import annotations

from typing import Any

import pytest

from pairproof.chaos.rocketmq.clients import Clients
from pairproof.chaos.rocketmq.provision import TOPIC
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import cluster
from pairproof.harness.rocketmq.template import advance, join
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.reference.client import admin
from pairproof.reference.wire import remoting
from pairproof.reference.wire.bodies import TopicConfig
from pairproof.reference.wire.headers import RequestCode

FOUND: list[Any] = []


def ask(clients: Clients, code: int, **fields: str) -> None:
    """A request of a client whom nobody watches, to the master."""
    calls = clients.client.calls
    opaque = calls.next_opaque()
    frame = remoting.encode(remoting.Command(code, opaque, 0, fields, b""))
    calls.call_frame(f"{clients._address_of('master')}#stranger", opaque, frame, FOUND.append)


def delete_group(clients: Clients, group: int, slowly: int, broker: int, node: str, *more: object) -> None:
    removes = "true" if slowly % 2 else "false"
    ask(clients, RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName=f"g{group}", removeOffset=removes)


def delete_topic(clients: Clients, number: int, queues: int, node: str, *more: object) -> None:
    name = TOPIC if queues % 2 else f"t{number}"
    ask(clients, RequestCode.DELETE_TOPIC_IN_BROKER, topic=name)
    if queues > 4:
        address = f"{clients._address_of('master')}#stranger"
        admin.update_topic(clients.client.calls, address, TopicConfig(name, 8, 8), FOUND.append)


def violated(schedule: Schedule) -> list[tuple[str, str]]:
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), schedule)
    return [(each.law, each.violations[0].text) for each in trial.judgements if each.verdict is Verdict.VIOLATED]


def send(queue: int = 0) -> Op:
    return Op("send", {"producer": 0, "size": 100, "wait": True, "queue": queue})


def topic(number: int, queues: int) -> Op:
    return Op("topic", {"number": number, "queues": queues, "node": "master"})


def group(number: int, slowly: int) -> Op:
    return Op("group", {"group": number, "slowly": slowly, "broker": 0, "node": "master"})


PULL = Op("pull", {"reader": 0, "node": "slave", "queue": 0})
WHOLE = {"lab.nameServer": 1}


@pytest.mark.parametrize("queues", [1, 5])
def test_a_deleted_topic_is_missing_on_the_slave_and_no_law_minds(queues: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clients, "change_topic", delete_topic)
    FOUND.clear()
    ops = (send(), PULL, advance(21_000), topic(0, queues), advance(21_000), PULL, advance(2_000), send(), PULL)
    assert violated(Schedule(WHOLE, "s", ops)) == []
    assert FOUND and all(each.phase == "ok" and each.status == "PUT_OK" for each in FOUND)


@pytest.mark.parametrize("removes", [0, 1])
def test_a_deleted_group_has_no_progress_and_no_law_minds(removes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clients, "change_group", delete_group)
    FOUND.clear()
    consumes = (join(0, 0), send(), send(1), advance(31_000), Op("leave", {"group": 0, "consumer": 0, "lost": False}))
    ops = (*consumes, advance(1_000), group(0, removes), advance(21_000), *consumes)
    assert violated(Schedule(WHOLE, "s", ops)) == []
    assert FOUND and all(each.phase == "ok" for each in FOUND)


def test_whole_trials_with_deletions_break_no_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clients, "change_group", delete_group)
    monkeypatch.setattr(Clients, "change_topic", delete_topic)
    drawn = (cluster.schedule("deletions", number) for number in range(100))
    # Only those in which an administrator does something.
    chosen = [each for each in drawn if any(op.do in ("topic", "group") for op in each.ops)]
    assert len(chosen) > 15
    assert {number: found for number, each in enumerate(chosen) if (found := violated(each))} == {}
