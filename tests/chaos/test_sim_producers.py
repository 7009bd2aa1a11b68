"""Producers that look routes up, choose queues and try again, in the simulation: a history says what they did."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pairproof.chaos.labs.sim.lab import LAB
from pairproof.chaos.mutants import catalogue, producers
from pairproof.chaos.mutants.mutant import seeded_in
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule

NAMES = {"lab.nameServer": 1}
SOON = Op("advance", {"ms": 3_000})


def produce(how: str = "turn", producer: int = 0, queue: int = 0) -> Op:
    return Op("produce", {"producer": producer, "how": how, "wait": True, "queue": queue})


def fault(name: str, **place: str) -> Op:
    return Op("fault", {"name": name, **place})


def heal(name: str) -> Op:
    return Op("heal", {"name": name})


def join() -> Op:
    return Op("join", {"group": 0, "consumer": 0})


KILLED = (
    produce(), SOON, fault("kill", node="master"), produce(), produce("queue"), SOON, SOON, SOON, heal("kill"), SOON,
    produce(), SOON,
)  # fmt: skip
AWAY = (produce(producer=1), SOON, fault("down", link="ha"), produce(producer=1), SOON, heal("down"), SOON)
UNASKED = (join(), produce("one-way"), SOON, produce("one-way"), produce(), SOON)
PROGRAMS: Mapping[str, tuple[Op, ...]] = {
    "takes_first_queue": UNASKED,
    "tries_stored_again": AWAY,
    "calls_open_failed": KILLED,
    "stores_unasked_twice": UNASKED,
}


def played(ops: tuple[Op, ...], target: str = "reference", **settings: object) -> tuple[list[Event], set[str]]:
    """A trial's events, and the laws that it broke."""
    given: Args = {**NAMES, **settings}  # type: ignore[dict-item]
    trial = run_trial(LAB, resolve.target(target), Schedule(given, "seed", ops))
    return list(trial.events), {each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED}


def tries(events: list[Event], message: str) -> list[tuple[object, ...]]:
    return [(each.f, each.queue, each.status) for each in events if each.kind == "try" and each.message == message]


def test_a_producer_takes_queues_in_turn_and_what_it_sends_is_stored_and_delivered() -> None:
    events, broken = played((join(), SOON, *(produce(producer=2) for _ in range(3)), produce("order", queue=1), SOON))
    assert not broken
    ends = [each for each in events if each.f == "produce" and each.kind == "ok"]
    assert [each.queue for each in ends[:3]] == [f"pairproof/{number}" for number in range(3)]
    assert {each.message for each in ends} <= {each.message for each in events if each.kind == "deliver"}
    assert {each.message for each in ends} <= {each.message for each in events if each.kind == "record"}


def test_what_was_cut_off_is_tried_again_and_nobody_knows_what_became_of_it() -> None:
    events, broken = played(KILLED)
    assert not broken
    second = tries(events, "m2")
    assert [each[2] for each in second] == [None, "disconnected", None, "refused", None, "refused"]
    assert len({each[1] for each in second}) == 3, "another queue each time"
    assert [each.kind for each in events if each.f == "produce" and each.message == "m2"] == ["invoke", "info"]
    assert len(tries(events, "m3")) == 2, "a send that has its queue is tried once"


def test_a_producer_goes_on_at_the_other_broker_name() -> None:
    sends = tuple(produce() for _ in range(5))
    events, broken = played((*sends, SOON, fault("kill", node="master"), *sends, SOON, heal("kill"), SOON),
                            **{"lab.others": 1})  # fmt: skip
    assert not broken
    moved = [each for each in events if each.kind == "ok" and each.f == "produce" and each.node == "other"]
    begun = [each.node for each in events if each.kind == "try" and each.f == "began" and each.op == moved[-1].op]
    assert "master" in [each.node for each in events if each.kind == "ok" and each.f == "produce"]
    assert any(
        [each.node for each in events if each.kind == "try" and each.f == "began" and each.op == ok.op]
        == ["master", "other"]
        for ok in moved
    ), begun


def test_a_one_way_send_asks_for_no_answer_and_is_stored() -> None:
    events, broken = played(UNASKED)
    assert not broken
    assert tries(events, "m1") == [("began", "pairproof/0", None), ("info", "pairproof/0", "one-way")]
    assert any(each.kind == "record" and each.message == "m1" for each in events)


@pytest.mark.parametrize("mutant", seeded_in(producers.__name__), ids=lambda mutant: mutant.name)
def test_each_mutant_is_caught_by_its_law_and_the_correct_pair_by_none(mutant: object) -> None:
    name = getattr(mutant, "name", "")
    assert catalogue()[name].law in played(PROGRAMS[name], f"reference+{name}")[1]
    assert not played(PROGRAMS[name])[1]


def test_producers_need_a_name_server() -> None:
    with pytest.raises(UsageError, match=r"set lab\.nameServer=1"):
        run_trial(LAB, ReferenceTarget(), Schedule({}, "seed", (produce(),)))
