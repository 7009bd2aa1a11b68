"""Transactions in the simulation: half messages wait, commits and rollbacks do what they say, and laws notice."""

from __future__ import annotations

import pytest

from pairproof.chaos.labs.sim.lab import LAB
from pairproof.chaos.mutants import transactions
from pairproof.chaos.mutants.mutant import seeded_in
from pairproof.harness.errors import UsageError
from pairproof.harness.history import MS, Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.template import advance, fault, heal, join
from pairproof.harness.texts.content import payload
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.schedule_json import from_json

REAL, HALF, NOTES = "pairproof/2", "RMQ_SYS_TRANS_HALF_TOPIC/0", "RMQ_SYS_TRANS_OP_HALF_TOPIC/0"


def transact(says: str = "commit", ms: int = 0, times: int = 1, queue: int = 2) -> Op:
    return Op("transact", {"producer": 0, "queue": queue, "says": says, "ms": ms, "times": times})


def played(*ops: Op, target: str = "reference") -> tuple[list[Event], set[str]]:
    """A trial's events, and the laws that it broke."""
    trial = run_trial(LAB, resolve.target(target), Schedule({"lab.nameServer": 1}, "seed", ops))
    return list(trial.events), {each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED}


def held(events: list[Event], queue: str) -> list[Event]:
    """What the master's log has in a queue, by its last audit."""
    last = max(each.op or 0 for each in events if each.kind == "audit" and each.f == "final")
    return [
        each for each in events
        if each.kind == "record" and each.node == "master" and each.op == last and each.queue == queue
    ]  # fmt: skip


def test_a_commit_stores_the_half_message_in_its_queue_and_its_group_receives_it() -> None:
    events, broken = played(join(0, 0), advance(1_000), transact(), advance(6_000))
    assert not broken
    (half,), (committed,), (note,) = held(events, HALF), held(events, REAL), held(events, NOTES)
    assert half.message == committed.message and payload(half.detail)["real"] == REAL
    assert (payload(committed.detail)["type"], payload(committed.detail)["prepared"]) == ("commit", half.lo)
    assert payload(note.detail)["tags"] == "d"
    assert [each.lo for each in events if each.kind == "deliver" and each.message == half.message] == [committed.lo]


@pytest.mark.parametrize(("says", "notes"), [("rollback", 1), ("never", 0)])
def test_nobody_receives_what_was_rolled_back_or_never_ended(says: str, notes: int) -> None:
    events, broken = played(join(0, 0), advance(1_000), transact(says), advance(6_000))
    assert not broken
    (half,) = held(events, HALF)
    assert (len(held(events, REAL)), len(held(events, NOTES))) == (0, notes)
    assert not [each for each in events if each.kind == "deliver" and each.message == half.message]


def test_a_second_commit_stores_the_message_again() -> None:
    events, broken = played(transact(times=2), advance(3_000))
    assert not broken and (len(held(events, REAL)), len(held(events, NOTES))) == (2, 2)


def test_the_end_is_asked_for_when_its_time_has_passed_and_the_trial_waits_for_it() -> None:
    events, broken = played(transact(ms=3_100))
    (half,) = [each.t for each in events if each.kind == "ok" and told_half(events, each)]
    (asked,) = [each.t for each in events if (each.kind, each.f) == ("decide", "asked")]
    assert not broken and asked - half == 3_100 * MS and len(held(events, REAL)) == 1


def told_half(events: list[Event], answer: Event) -> bool:
    return any(each.kind == "invoke" and each.op == answer.op and payload(each.detail).get("half") for each in events)


def test_a_master_that_is_killed_meanwhile_commits_what_it_still_has() -> None:
    away = (transact(ms=6_000), advance(1_000), fault("kill", node="master"), advance(1_000), heal("kill"))
    events, broken = played(*away, advance(9_000))
    assert not broken and len(held(events, REAL)) == 1


def test_an_end_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="commit, rollback, never"):
        from_json(Schedule({}, "seed", (transact("perhaps"),)).to_json())


SHOWS = (join(0, 0), advance(1_000), transact(), transact("rollback"), transact("rollback"), advance(3_000))


@pytest.mark.parametrize("mutant", seeded_in(transactions.__name__), ids=lambda mutant: mutant.name)
def test_a_small_program_shows_the_mutant(mutant: object) -> None:
    name, law = getattr(mutant, "name", ""), getattr(mutant, "law", "")
    _, broken = played(*SHOWS, target=f"reference+{name}")
    assert law in broken
