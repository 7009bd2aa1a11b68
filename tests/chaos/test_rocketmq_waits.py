"""What the driver of a real RocketMQ pair waits for: only what its nodes can tell, and what the trial has touched."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pairproof.chaos.rocketmq.driver import RocketMQDriver
from pairproof.chaos.rocketmq.traced import KINDS
from pairproof.chaos.targets import rocketmq
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.history import Event
from pairproof.harness.rocketmq.known.metadata import STEPS
from pairproof.harness.texts.content import content

PAIR = ("master", "slave")
FRESH = 7


def driver(target: Any = rocketmq.V4, *events: Event, black_boxes: tuple[str, ...] = PAIR) -> RocketMQDriver:
    """Of a pair with a name server whose nodes serve, hold a log, and have told nothing of it."""
    made = object.__new__(RocketMQDriver)
    made.pair, made.has_names, made.observed = PAIR, True, target.observes() - {"dispatch"}
    nodes = {
        name: SimpleNamespace(
            name=name, incarnation=1, is_up=True, program=SimpleNamespace(tells=() if name in black_boxes else KINDS)
        )
        for name in PAIR
    }
    evidence = SimpleNamespace(log_ends=dict.fromkeys(PAIR, FRESH))
    made.world = SimpleNamespace(nodes=nodes, evidence=evidence, recorder=SimpleNamespace(events=events))  # type: ignore[assignment]
    made.readings = SimpleNamespace(registered=set(), dispatched={}, copies={})  # type: ignore[assignment]
    return made


def event(kind: str, **columns: Any) -> Event:
    return Event(0, 0, kind, **columns)


def test_nobody_waits_for_a_black_box_to_say_what_it_has_derived() -> None:
    assert driver().derived()


def test_nobody_waits_for_the_registration_of_a_java_broker_that_serves() -> None:
    """It came before the broker served, or comes no sooner than a slave asks for the second time."""
    found = driver()
    assert "register" in found.observed and found.stand(["names", "master"])


def test_a_node_that_tells_is_waited_for_beside_one_that_does_not() -> None:
    mixed = driver(rocketmq.V4_SLAVE, black_boxes=("slave",))
    assert not mixed.stand(["master"]) and not mixed.derived()
    mixed.readings.registered.add(("master", 1))
    mixed.readings.dispatched["master"] = FRESH
    assert mixed.stand(["master"]) and mixed.derived()


def test_a_black_box_is_waited_for_once_somebody_else_tells_of_it() -> None:
    found = driver()
    found.observed = found.observed | {"dispatch"}
    assert not found.derived()


UNTOUCHED = [
    event("invoke", node="master", f="send", queue="pairproof/0", detail=content(b"body", "", 0)),
    event("invoke", node="slave", f="pull"),
    event("fault", node="master", f="kill"), event("fault", link="ha", f="stall"), event("crash", node="master"),
]  # fmt: skip


def test_sends_pulls_and_faults_of_the_pair_itself_leave_no_tables_to_copy() -> None:
    assert not driver(TARGET, *UNTOUCHED).has_pending_copies()


@pytest.mark.parametrize(
    "touched",
    [
        event("consumer", f="clustering", status="on"),
        event("invoke", node="master", f="topic"),
        event("invoke", node="slave", f="group"),
        event("invoke", node="master", f="commit"),
        event("invoke", node="master", f="send", queue="pairproof/0", detail=content(b"body", "", 0, level=1)),
        event("fault", node="names", f="kill"),
        event("fault", link="meta-fast", f="stall"),
        event("fault", link="names-slave", f="partition"),
    ],
    ids=str,
)
def test_what_touches_tables_or_the_ways_to_them_has_copies_waited_for(touched: Event) -> None:
    assert driver(TARGET, *UNTOUCHED, touched).has_pending_copies()


def test_copies_have_arrived_when_every_slave_that_is_up_has_asked_for_each_table_since_and_got_it() -> None:
    found = driver()
    copies = found.readings.copies["slave"] = dict.fromkeys(STEPS, 20)
    assert found.copied(20) and not found.copied(21)
    copies["groups"] = 19
    assert not found.copied(20)
    del copies["groups"]
    assert not found.copied(0)
    found.world.nodes["slave"].is_up = False
    assert found.copied(20)
