"""Requests that make no sense: the reference refuses each, brokers and name server, and nothing is left of them."""

from __future__ import annotations

import pytest

from pairproof.chaos.rocketmq import invalid_requests
from pairproof.chaos.rocketmq.frames import FORMS, Form
from pairproof.chaos.rocketmq.invalid_requests import MOST
from pairproof.chaos.rocketmq.questions import Answered
from pairproof.chaos.rocketmq.sim_caller import Caller
from pairproof.harness.rocketmq.invalid_requests import (
    ILLEGAL_FOR_NAMES,
    ILLEGAL_FOR_REFERENCE,
    OF_BROKERS,
    OF_NAMES,
    OPTIONAL,
    REQUESTS,
    VALID,
    Invalid,
)
from pairproof.harness.rocketmq.laws.questions.invalid_refused import InvalidRefused
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reference.wire.headers import HEADERS, RequestCode
from pairproof.reference.wire.remoting import CommandReader

SCHEDULE = Schedule(
    {"lab.nameServer": 1}, "seed", (Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),)
)


HAND_MADE = {each.name: each for each in (*OF_BROKERS, *OF_NAMES)}
TABLE_ONLY = {RequestCode.NOTIFY_CONSUMER_IDS_CHANGED}
"""What brokers send, and no node is asked."""


def sent(monkeypatch: pytest.MonkeyPatch, request: Invalid, target: str = "reference") -> Trial:
    """A trial at whose end every node is sent this request that can be."""
    other = REQUESTS["a frame of more than 16 MiB"]
    monkeypatch.setattr(
        invalid_requests, "chosen", lambda seed, node, requests, illegal: [request if request in requests else other]
    )
    return run_trial(resolve.lab("sim"), resolve.target(target), SCHEDULE)


@pytest.mark.parametrize("invalid", HAND_MADE.values(), ids=HAND_MADE)
def test_each_is_refused_and_changes_nothing(invalid: Invalid, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = sent(monkeypatch, invalid)
    events = trial.events
    found = [each for each in events if each.kind == "invalid"]
    nodes = ["master", "slave"] * (invalid in OF_BROKERS) + ["names"] * (invalid in OF_NAMES)
    assert sorted(each.node for each in found if each.f == invalid.name) == sorted(nodes) and len(found) == 3
    left = {each.kind for each in events if each.seq > found[0].seq}
    assert left <= {"invalid", "conversation", "answer", "mark"}
    judged = {each.law: each for each in trial.judgements}
    assert (judged[InvalidRefused.id].judged, judged[InvalidRefused.id].violations) == (3, ())


def test_illegal_fields_are_refused_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invalid_requests, "chosen", lambda seed, node, requests, illegal: illegal)
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), SCHEDULE)
    found = [each for each in trial.events if each.kind == "invalid"]
    assert len(found) == 2 * len(ILLEGAL_FOR_REFERENCE) + len(ILLEGAL_FOR_NAMES)
    assert {each.kind for each in trial.events if each.seq > found[0].seq} <= {
        "invalid",
        "conversation",
        "answer",
        "mark",
    }
    assert not [violation.text for each in trial.judgements for violation in each.violations]


def test_every_field_of_every_request_has_its_illegal_values() -> None:
    """A field that a header's table gains is one that a valid request here lacks."""
    for code, row in HEADERS.items():
        fields = {each.name: each for each in row.request}
        valid = VALID.get(RequestCode(code).name, {})
        required = {name for name, each in fields.items() if each.required}
        assert code in TABLE_ONLY or (required == valid.keys() - OPTIONAL and valid.keys() <= fields.keys()), code
        numbers = {name for name, value in valid.items() if value.removeprefix("-").isdecimal()}
        assert numbers == {name for name in valid if fields[name].kind in ("int", "long")}, code
    names = {each.name for each in (*ILLEGAL_FOR_REFERENCE, *ILLEGAL_FOR_NAMES)}
    assert names >= {"PULL_MESSAGE without queueId", "END_TRANSACTION with commitLogOffset 1.0"}


def test_what_a_mutant_takes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = sent(monkeypatch, REQUESTS["a new topic with a space"], "reference+takes_any_topic")
    told = [
        violation.text for each in trial.judgements if each.law == InvalidRefused.id for violation in each.violations
    ]
    assert told == ["master, sent a new topic with a space, answered PUT_OK; allowed: INVALID_PARAMETER, SYSTEM_ERROR"]


def test_trials_send_all_of_them() -> None:
    assert (
        invalid_requests.chosen("1", "master", OF_BROKERS)[:MOST]
        == invalid_requests.chosen("1", "master", OF_BROKERS, ILLEGAL_FOR_REFERENCE)[:MOST]
    )
    for node, requests in (("master", OF_BROKERS), ("names", OF_NAMES)):
        drawn = [invalid_requests.chosen(str(seed), node, requests) for seed in range(600)]
        assert {each.name for sent in drawn for each in sent[:MOST]} == {each.name for each in requests}
        assert {len(sent) for sent in drawn} == {MOST + 1}


@pytest.mark.parametrize("frame", FORMS)
def test_a_request_is_the_same_in_all_forms_of_a_frame(frame: Form) -> None:
    asked = {"topic": "t", "queueId": "3", "names": "0x3", "zero": "007"}
    (read,) = CommandReader().feed(frame(11, 7, asked, b"body"))
    assert (read.code, read.opaque, read.flag, read.body) == (11, 7, 0, b"body")
    assert {name: read.fields[name] for name in asked} == asked


def test_what_is_no_frame_and_is_answered_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "close", lambda self, conn: self.answered.append(Answered("PUT_OK", {}, b"")))
    trial = sent(monkeypatch, REQUESTS["a frame whose header is a list"])
    told = [each for each in trial.judgements if each.law == InvalidRefused.id]
    assert told[0].broken == 3
