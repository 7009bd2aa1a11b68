"""Questions at a trial's end: few, the same at each replay, without time, and only of brokers that run."""

from __future__ import annotations

import pytest

from pairproof.chaos.observers import remoting_codes
from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.rocketmq import questions
from pairproof.chaos.rocketmq.questions import OF_JAVA, OF_REFERENCE
from pairproof.chaos.rocketmq.sim_caller import OPAQUE, UNANSWERED, Caller
from pairproof.harness.history import UNREADABLE, Event
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.reference.wire import headers, remoting

SENDS = [Op("send", {"producer": 0, "size": 100, "wait": True, "queue": number % 2}) for number in range(6)]


def answers(seed: str, **settings: str | int) -> list[Event]:
    schedule = Schedule(settings, seed, tuple(SENDS))
    events = run_trial(resolve.lab("sim"), resolve.target("reference"), schedule).events
    found = [event for event in events if event.kind == "answer"]
    assert not found or {each.t for each in found} == {events[-1].t}
    return found


def test_each_broker_is_asked_a_few_questions_and_a_replay_asks_the_same() -> None:
    found = answers("seed")
    assert [each.node for each in found] == ["master"] * questions.MOST + ["slave"] * questions.MOST
    assert found == answers("seed")
    assert [each.f for each in found] != [each.f for each in answers("another")]


@pytest.mark.parametrize("seed", range(20))
def test_users_look_for_messages_by_key_by_id_or_by_time(seed: int) -> None:
    one = Event(0, 0, "record", "master", queue="t/0", lo=0, hi=100, value=1, message="m0")
    kinds = OF_REFERENCE.kinds
    asked = [each.f for each in questions.chosen(str(seed), "master", [one], [], kinds)]
    assert set(asked) & set(questions.USUAL) and len(asked) == questions.MOST
    several = one._replace(message="m0 k k")
    asked = [each.f for each in questions.chosen(str(seed), "master", [several], [], kinds)]
    assert asked[questions.MOST :] == ["key", "key"]


def test_a_query_by_key_varies_its_window_and_its_maximum() -> None:
    one = Event(0, 0, "record", "master", queue="t/0", lo=0, hi=100, value=5_000, message="m0 k")
    drawn = [questions.chosen(str(seed), "master", [one], [], frozenset({"key"})) for seed in range(40)]
    fields = [each.fields for asked in drawn for each in asked]
    assert {each["maxNum"] for each in fields} == {"1", "2", "64"}
    assert {each["beginTimestamp"] for each in fields} == {"0", "4000", "5000", "5001"}
    assert {each["endTimestamp"] for each in fields} == {"4000", "5000", "6000", str(questions.FOREVER)}


def test_an_expired_message_is_asked_for_by_key_and_by_id() -> None:
    one = Event(0, 0, "record", "master", queue="t/0", lo=4_096, hi=4_196, value=5_000, message="m9")
    kinds = frozenset({"nobody's key", "bad id"})
    drawn = [each for seed in range(40) for each in questions.chosen(str(seed), "master", [one], [], kinds)]
    assert {each.columns["message"] for each in drawn if each.f == "nobody's key"} == {questions.EARLY}
    assert 0 in {each.columns["value"] for each in drawn if each.f == "bad id"}


def test_over_some_trials_everything_is_asked_and_answered() -> None:
    found = {each.f for number in range(30) for each in answers(str(number))}
    assert found == {"key", "id", "time", "max", "min", "earliest", "runtime", "config", "topic", "newcomer"}


def test_a_java_broker_is_not_asked_what_it_answers_otherwise() -> None:
    assert OF_REFERENCE.kinds - OF_JAVA.kinds == {"bad id", "time", "newcomer"}
    one = Event(0, 0, "record", "master", queue="t/0", lo=0, hi=100, value=1, message="m0")
    asked = {
        each.f for seed in range(40) for each in questions.chosen(str(seed), "master", [one], ["g0"], OF_JAVA.kinds)
    }
    assert asked == OF_JAVA.kinds


def test_a_broker_without_records_is_asked_what_it_can_know() -> None:
    drawn = [questions.chosen(str(seed), "master", [], [], OF_REFERENCE.kinds) for seed in range(20)]
    assert {each.f for asked in drawn for each in asked} == set(questions.ALWAYS)


def test_what_asks_knows_the_numbers_on_its_own() -> None:
    """And agrees with the reference, whose table the lab's clients use."""
    assert {each.name: each.value for each in Request}.items() <= {
        each.name: each.value for each in headers.RequestCode
    }.items()
    names = {**remoting.RESPONSE_NAMES, **remoting.SEND_STATUS}
    assert names == remoting_codes.STATUSES


@pytest.mark.parametrize("flag, opaque, status", [(1, OPAQUE, "PUT_OK"), (0, OPAQUE, UNREADABLE), (1, 0, UNREADABLE)])
def test_an_answer_is_one_to_what_was_asked(flag: int, opaque: int, status: str) -> None:
    caller = Caller(None)
    caller.requests = 1
    caller.send(caller, remoting.encode(remoting.Command(0, opaque, flag, {})))
    assert [each.status for each in caller.answered] == [status]


def test_bytes_that_are_no_answer_are_unreadable() -> None:
    caller = Caller(None)
    caller.requests = 1
    caller.send(caller, bytes(8))
    assert [each.status for each in caller.answered] == [UNREADABLE]


def test_a_broker_that_does_not_answer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "send", lambda self, conn, data: len(data))
    assert {each.status for each in answers("seed")} == {UNANSWERED}
