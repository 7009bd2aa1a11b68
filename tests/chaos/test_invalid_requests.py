"""Requests that make no sense: the reference refuses each, at either broker, and nothing is left of them."""

from __future__ import annotations

import pytest

from pairproof.chaos.rocketmq import invalid_requests
from pairproof.chaos.rocketmq.invalid_requests import REQUESTS, Invalid
from pairproof.harness import resolve
from pairproof.harness.interpreter import run_trial
from pairproof.harness.rocketmq.invalid_requests import REFUSALS
from pairproof.harness.rocketmq.laws.invalid_refused import InvalidRefused
from pairproof.harness.schedule import Op, Schedule
from pairproof.harness.trial import Trial

SCHEDULE = Schedule({}, "seed", (Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),))


def sent(monkeypatch: pytest.MonkeyPatch, request: Invalid, target: str = "reference") -> Trial:
    """A trial at whose end both brokers are sent this request."""
    monkeypatch.setattr(invalid_requests, "chosen", lambda seed, node: request)
    return run_trial(resolve.lab("sim"), resolve.target(target), SCHEDULE)


@pytest.mark.parametrize("name", REFUSALS)
def test_each_is_refused_and_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = sent(monkeypatch, REQUESTS[name])
    events = trial.events
    found = [each for each in events if each.kind == "invalid"]
    assert [each.node for each in found] == ["master", "slave"] and {each.f for each in found} == {name}
    left = {each.kind for each in events if each.seq > found[0].seq}
    assert left <= {"invalid", "answer", "mark"}
    judged = {each.law: each for each in trial.judgements}
    assert (judged[InvalidRefused.id].judged, judged[InvalidRefused.id].violations) == (2, ())


def test_what_a_mutant_takes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = sent(monkeypatch, REQUESTS["a new topic with a space"], "reference+takes_any_topic")
    told = [
        violation.text for each in trial.judgements if each.law == InvalidRefused.id for violation in each.violations
    ]
    assert told == ["master, sent a new topic with a space, answered PUT_OK; allowed: INVALID_PARAMETER, SYSTEM_ERROR"]


def test_trials_send_all_of_them() -> None:
    assert set(REQUESTS) == set(REFUSALS)
    assert {invalid_requests.chosen(str(seed), "master").name for seed in range(200)} == set(REFUSALS)
