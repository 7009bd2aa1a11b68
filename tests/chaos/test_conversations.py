"""Visits: the reference serves each as RocketMQ does, in all forms of a frame, and nothing is left of them."""

from __future__ import annotations

import pytest

from pairproof.chaos.rocketmq import conversations, sim_caller, sim_long_conversations, sim_questions
from pairproof.chaos.rocketmq.frames import FORMS, Form
from pairproof.chaos.rocketmq.questions import Answered
from pairproof.chaos.rocketmq.sim_caller import Caller
from pairproof.harness.history import Event
from pairproof.harness.rocketmq.conversations import CONVERSATIONS, IN_TIME, MASTER, NAMES, SERVED, SLAVE
from pairproof.harness.rocketmq.conversations.brokers import OF_BROKERS
from pairproof.harness.rocketmq.conversations.served import as_text
from pairproof.harness.rocketmq.conversations.steps import Conversation
from pairproof.harness.rocketmq.laws.questions.conversation_answered import ConversationAnswered
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reference.core.command_peers import CommandPeers
from pairproof.reference.core.processors.members import Members
from pairproof.reference.core.requests import Request
from pairproof.reference.wire.record import Message, encode

SCHEDULE = Schedule(
    {"lab.nameServer": 1}, "seed", (Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),)
)
BESIDE = {"conversation", "answer", "invalid", "mark"}
NODES = {MASTER: "master", SLAVE: "slave", NAMES: "names"}
ALL = [(node, each) for kind, node in NODES.items() for each in CONVERSATIONS[kind]]
MESSAGES = CONVERSATIONS[MASTER][len(OF_BROKERS)]


def visited(monkeypatch: pytest.MonkeyPatch, of: str, steps: Conversation, form: Form = FORMS[0]) -> Trial:
    """A trial at whose end a node has this visit."""
    drawn = conversations.chosen
    monkeypatch.setattr(
        conversations,
        "chosen",
        lambda seed, node, found: steps if node == of else drawn(seed, node, found),
    )
    monkeypatch.setattr(sim_questions, "FORMS", (form,))
    monkeypatch.setattr(sim_long_conversations, "SHARE", 0)
    return run_trial(resolve.lab("sim"), resolve.target("reference"), SCHEDULE)


def told(events: list[Event], node: str) -> list[str]:
    return [each.f for each in events if each.kind == "conversation" and each.node == node]


@pytest.mark.parametrize("slow", [0, 1])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("node", "steps"), ALL, ids=[f"{node}: {steps[0].name}" for node, steps in ALL])
def test_each_is_served_and_leaves_nothing(
    node: str, steps: Conversation, form: Form, slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim_caller, "SLOW", slow)
    trial = visited(monkeypatch, node, steps, form)
    assert told(trial.events, node) == [each.name for each in steps]
    first = next(each for each in trial.events if each.kind == "conversation")
    left = {(each.kind, each.f) for each in trial.events if each.seq > first.seq and each.kind not in BESIDE}
    assert not left
    judged = {each.law: each for each in trial.judgements}[ConversationAnswered.id]
    assert judged.judged == len([each for each in trial.events if each.kind == "conversation"]) and not judged.broken


def test_trials_play_all_of_them() -> None:
    for found in CONVERSATIONS.values():
        drawn = {id(conversations.chosen(str(seed), "master", found)) for seed in range(300)}
        assert drawn == {id(each) for each in found}


def test_a_name_that_several_steps_share_has_one_right_answer() -> None:
    steps = [
        step
        for paid in (CONVERSATIONS, IN_TIME)
        for found in paid.values()
        for conversation in found
        for step in conversation
    ]
    for step in steps:
        assert step.served is None or SERVED[step.name] == step.served, step.name


def test_a_node_that_closes_the_connection_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Caller.send

    def closes(self: Caller, conn: object, data: bytes) -> int:
        sent = send(self, conn, data)
        if conn is self and len(self.answered) == 2:
            self.close(self)
        return sent

    monkeypatch.setattr(Caller, "send", closes)
    trial = visited(monkeypatch, "master", OF_BROKERS[0])
    assert told(trial.events, "master") == ["a consumer comes", "who consumes", "what it takes"]
    found = [each for each in trial.events if each.kind == "conversation" and each.node == "master"]
    assert [each.status for each in found] == ["PUT_OK", "PUT_OK", "CLOSED"]


def test_a_node_that_ends_instead_of_answering_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(self: Members, request: Request) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Members, "on_unregister", ends)
    trial = visited(monkeypatch, "master", OF_BROKERS[1])
    found = [(each.f, each.status) for each in trial.events if each.kind == "conversation" and each.node == "master"]
    assert found == [("a producer comes", "PUT_OK"), ("who produces", "PUT_OK"), ("the producer leaves", "ENDED")]
    assert {each.law: each for each in trial.judgements}[ConversationAnswered.id].broken == 1


def test_a_node_that_forgets_what_a_slow_visitor_has_not_taken_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim_caller, "SLOW", 1)
    monkeypatch.setattr(CommandPeers, "on_writable", lambda self, conn: None)
    trial = visited(monkeypatch, "master", MESSAGES)
    assert {each.law: each for each in trial.judgements}[ConversationAnswered.id].broken


def test_a_step_that_follows_from_no_answer_ends_the_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [step for step in MESSAGES if step.name in ("a topic is made", "the message by its id")]
    trial = visited(monkeypatch, "master", steps)
    assert told(trial.events, "master") == ["a topic is made"]
    assert not [each for each in trial.judgements if each.broken]


@pytest.mark.parametrize(("further", "to_last"), [(-1, False), (0, True), (1, False), (99, False), (100, True)])
def test_an_index_may_have_gone_to_a_later_message_but_not_into_this_one(further: int, to_last: bool) -> None:
    reads = next(
        step
        for conversation in CONVERSATIONS[MASTER]
        for step in conversation
        if step.name == "the index goes up to it"
    )
    at, body = 500, encode(Message("t", 0, b"1", b""), 0, 500, 1_000)
    sent = Answered("OK", {"msgId": f"{0:016x}{at:016X}"}, b"", "")
    up_to = at + (further if further < 99 else len(body) - 100 + further)
    found = Answered("OK", {"indexLastUpdatePhyoffset": str(up_to)}, body, "")
    assert conversations.read(reads, found, [sent]) == as_text(bodies=["1"], to_last=to_last)


def test_answers_that_cannot_be_read_are_recorded_so() -> None:
    added: list[object] = []

    def add(t: int, kind: str, node: str, incarnation: int, **columns: object) -> None:
        added.append((columns["status"], columns["detail"]))

    step = OF_BROKERS[0][1]
    for body in (b"", b"{}", b"[1]", b'{"consumerIdList":7}'):
        conversations.record(add, 0, "master", 1, step, Answered("PUT_OK", {}, body), ())
    conversations.record(add, 0, "master", 1, step, Answered("SYSTEM_ERROR", {}, b"", "no"), ())
    assert [status for status, _ in added] == ["unreadable answer"] * 4 + ["SYSTEM_ERROR"]
