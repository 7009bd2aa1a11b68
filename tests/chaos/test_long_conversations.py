"""Visits in which time passes: a good node serves each of them, a broken one is seen, and the time is taken back."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from pairproof.chaos.observers.remoting_codes import Request as Code
from pairproof.chaos.rocketmq import frames, sim_long_conversations
from pairproof.chaos.rocketmq.frames import FORMS, Form
from pairproof.chaos.rocketmq.questions import CLOSED
from pairproof.chaos.rocketmq.sim_caller import UNANSWERED
from pairproof.chaos.rocketmq.sim_long_conversations import Line, chosen
from pairproof.harness.history import UNREADABLE
from pairproof.harness.rocketmq.conversations import IN_TIME, MASTER, NAMES, SERVED, SLAVE
from pairproof.harness.rocketmq.conversations.served import NOTHING, TOLD
from pairproof.harness.rocketmq.conversations.steps import CLOSES, HEARS, POSTS, Conversation
from pairproof.harness.rocketmq.laws.questions.conversation_answered import ConversationAnswered
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_broken, assert_holds
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reference.core import reading
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.client_table import ClientTable
from pairproof.reference.core.command_peers import CommandPeers
from pairproof.reference.core.consume_queue import Entry
from pairproof.reference.core.delayed_delivery import DelayedDelivery
from pairproof.reference.core.processors.members import Members
from pairproof.reference.core.processors.pulling import Pulling
from pairproof.reference.core.queue_locks import QueueLocks
from pairproof.reference.core.routes import RouteTable
from pairproof.reference.wire import remoting

SCHEDULE = Schedule(
    {"lab.nameServer": 1}, "seed", (Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),)
)
BESIDE = {"conversation", "answer", "invalid", "mark"}
NODES = {"master": MASTER, "slave": SLAVE, "names": NAMES}
ALL = [(node, steps) for node, kind in NODES.items() for steps in IN_TIME[kind]]
LOCKS, FORGOTTEN, ENDED, PRODUCES, ONE_LESS, UNTOLD, HELD, BY_TAG, SHORTLY, DELAYED, PENDING, FAR = IN_TIME[MASTER]
SILENT_BROKER, LONELY_BROKER, LOST_BROKER = IN_TIME[NAMES]


def visited(
    monkeypatch: pytest.MonkeyPatch, node: str, steps: Conversation, form: Form = frames.plain
) -> tuple[Trial, list[str]]:
    """A trial at whose end a node has this visit, and what its visitors heard that was wrong."""
    monkeypatch.setattr(sim_long_conversations, "chosen", lambda *drawn: (node, steps))
    monkeypatch.setattr(sim_long_conversations, "FORMS", (form,))
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), SCHEDULE)
    judged = {each.law: each for each in trial.judgements}[ConversationAnswered.id]
    return trial, [each.text for each in judged.violations]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("node", "steps"), ALL)
def test_each_is_served_and_leaves_nothing(
    node: str, steps: Conversation, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, wrong = visited(monkeypatch, node, steps, form)
    names = [each.name for each in steps if each.does not in (POSTS, CLOSES)]
    last = [each for each in trial.events if each.kind == "conversation"][-len(names) :]
    assert [each.f for each in last] == names and {each.node for each in last} == {node}
    first = next(each for each in trial.events if each.kind == "conversation")
    assert not {each.kind for each in trial.events if each.seq > first.seq} - BESIDE
    # No time has passed.
    assert {each.t for each in trial.events if each.seq > first.seq} == {first.t}
    assert not wrong and not [each.law for each in trial.judgements if each.broken]


def test_some_trials_have_one_and_over_them_all_are_paid() -> None:
    nodes, found = tuple(NODES), {node: IN_TIME[kind] for node, kind in NODES.items()}
    drawn = [chosen(str(seed), nodes, found.__getitem__) for seed in range(3_000)]
    paid = [each for each in drawn if each is not None]
    assert 0.8 * sim_long_conversations.SHARE < len(paid) / len(drawn) < 1.2 * sim_long_conversations.SHARE
    assert {(node, id(steps)) for node, steps in paid} == {(node, id(steps)) for node, steps in ALL}
    assert drawn[:50] == [chosen(str(seed), nodes, found.__getitem__) for seed in range(50)]
    long = [steps for _, steps in paid if sum(step.wait_ms for step in steps) > sim_long_conversations.LONG_MS]
    assert 0 < len(long) < len(paid) / 2
    assert chosen("0", (), found.__getitem__) is None


# Broken nodes.


def broken(cls: type, name: str, by: Any) -> tuple[type, str, Any]:
    return cls, name, by


def nothing(*arguments: object) -> None:
    """Where it should do something."""


def forgets_nobody(self: object, now: int) -> list[Any]:
    return []


def keeps(self: ClientTable, conn: object) -> list[str]:
    return []


def holds_for_ever(self: Pulling, key: Hashable) -> None:
    self._looking = False


def drops_what_does_not_match(self: Pulling, topic: str, queue_id: int, next_offset: int, tags_code: int) -> None:
    for each in self._taken(topic, queue_id):
        if each.takes is None or each.takes(Entry(0, 0, tags_code)):
            self._answer(each, may_hold=False)


def at_once(self: DelayedDelivery, level: int, entry: object) -> int:
    return 0


def forgets_clients_at_once(self: ClientTable, now: int) -> list[Any]:
    members = [item for group in self.consumers.values() for item in group.clients.items()]
    return [conn for conn, client in members if now - client.seen > 100e9]


@pytest.mark.parametrize(("cls", "name", "by", "steps", "step"), [
    (QueueLocks, "holder", lambda self, group, queue, now: None, LOCKS, "both after 55 s"),
    (QueueLocks, "holder", lambda self, group, queue, now: getattr(self._locks.get((group, queue)), "client", None),
     LOCKS, "both after 63 s"),
    (ClientTable, "expire", forgets_nobody, FORGOTTEN, "who consumes after 140 s"),
    (ClientTable, "expire", forgets_clients_at_once, FORGOTTEN, "who consumes after 115 s"),
    (ClientTable, "expire", forgets_nobody, PRODUCES, "who only produces after 140 s"),
    (ClientTable, "expire", forgets_nobody, ONE_LESS, "who consumes in the other group after 140 s"),
    (reading, "MOST_SCANNED", 16_000, FAR, "a pull ends before the blue one"),
    (ClientTable, "closed", keeps, ENDED, "who consumes when one is gone"),
    (Members, "_notify", nothing, ENDED, "is told of both, answered NOTHING"),
    (Members, "notifies", lambda self, group: True, UNTOLD, "hears nothing of all that, answered TOLD"),
    (Pulling, "arrived", nothing, HELD, "answered at once, answered NOTHING"),
    (Pulling, "on_timer", holds_for_ever, HELD, "the time of the pull is over, answered NOTHING"),
    (Pulling, "arrived", drops_what_does_not_match, BY_TAG, "the blue one has come, answered NOTHING"),
    (DelayedDelivery, "wait_ms", at_once, DELAYED, "nothing has come after 700 ms"),
    (DelayedDelivery, "_deliver", nothing, DELAYED, "the delayed message has come"),
    (RouteTable, "touch", nothing, SILENT_BROKER, "the way to the broker that was heard of"),
    (RouteTable, "expire", forgets_nobody, SILENT_BROKER, "the way to the broker that was heard of"),
    (RouteTable, "touch", nothing, LONELY_BROKER, "115 s after it was heard of"),
    (RouteTable, "expire", forgets_nobody, LONELY_BROKER, "the way to nobody"),
    (RouteTable, "gone", nothing, LOST_BROKER, "the way to two brokers"),
])  # fmt: skip
def test_a_broken_node_is_seen(
    cls: type, name: str, by: Any, steps: Conversation, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cls, name, by)
    _, wrong = visited(monkeypatch, "master" if cls is not RouteTable else "names", steps)
    assert any(step in each for each in wrong), wrong


def test_a_node_that_ends_while_it_is_asked_is_seen_and_its_end_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(self: Members, request: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Members, "on_lock", ends)
    trial, wrong = visited(monkeypatch, "master", LOCKS)
    assert any("two queues, answered ENDED" in each for each in wrong)
    crash = next(each for each in trial.events if each.kind == "crash" and each.node == "master")
    assert crash.t == trial.events[-1].t
    assert "node-lives" in {each.law for each in trial.judgements if each.broken}


def test_a_node_that_ends_as_time_passes_is_visited_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(self: Broker, key: Hashable) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Broker, "_expire_clients", ends)
    trial, wrong = visited(monkeypatch, "master", LOCKS)
    assert [each.f for each in trial.events if each.kind == "conversation"][-1] == "a first member locks two queues"
    assert not wrong and "master" in {each.node for each in trial.events if each.kind == "crash"}


def test_a_connection_that_a_node_closes_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CommandPeers, "on_bytes", lambda self, conn, data: self.drop(conn))
    _, wrong = visited(monkeypatch, "names", LOST_BROKER)
    assert any("a master registers, answered CLOSED" in each for each in wrong)


# What came over a connection.


def told(opaque: int, code: int = 0, flag: int = 1) -> bytes:
    return remoting.encode(remoting.Command(code, opaque, flag, {"consumerGroup": "g"}))


def test_an_answer_is_the_one_to_what_was_asked() -> None:
    line = Line()
    line.take(told(0, Code.NOTIFY_CONSUMER_IDS_CHANGED, 2) + told(7), 7)
    assert line.answer(7).status == "PUT_OK" and line.answer(7).status == UNANSWERED
    assert line.received(Code.NOTIFY_CONSUMER_IDS_CHANGED).status == TOLD
    assert line.received(Code.NOTIFY_CONSUMER_IDS_CHANGED).status == NOTHING
    line.is_closed = True
    assert line.answer(8).status == line.received(0).status == CLOSED


def test_a_later_answer_is_heard_once() -> None:
    line = Line()
    line.posted[7] = Code.PULL_MESSAGE
    line.take(told(7, 19), None)
    assert line.received(Code.PULL_MESSAGE).status == "PULL_NOT_FOUND"
    line.take(told(7, 19), None)
    assert line.received(Code.PULL_MESSAGE).status == UNREADABLE


@pytest.mark.parametrize("data", [told(8), bytes(8)])
def test_what_nobody_asked_for_is_unreadable(data: bytes) -> None:
    line = Line()
    line.take(data, 7)
    assert line.answer(7).status == line.received(0).status == UNREADABLE


# The law.


def test_what_a_visitor_hears_is_judged_as_an_answer() -> None:
    def heard(status: str, detail: str | None = None) -> H:
        step = "the first client is told of both"
        return (
            H()
            .config("master")
            .start("master")
            .add("conversation", node="master", f=step, status=status, detail=detail)
        )

    right = SERVED["the first client is told of both"].expects
    assert_holds(ConversationAnswered, heard(TOLD, right))
    assert_broken(ConversationAnswered, heard(TOLD, '{"group": "another"}'), "right is")
    assert_broken(ConversationAnswered, heard(NOTHING), "answered NOTHING; allowed: TOLD")
    assert HEARS in {step.does for step in ENDED}
