"""Consumers that fail at messages, in the simulation: what they send back comes again, and ends among dead letters."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pairproof.chaos.labs.sim.lab import LAB
from pairproof.chaos.mutants import sent_back
from pairproof.chaos.mutants.mutant import seeded_in
from pairproof.harness.errors import UsageError
from pairproof.harness.history import MS, Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.operations.scope import FALTERING
from pairproof.harness.rocketmq.template import advance, fault, heal, join, leave, send
from pairproof.harness.texts.content import payload
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule


def fail_consume(consumer: int = 0, every: int = 1, times: int = 3, level: int = 0, most: int = 2) -> Op:
    return Op("fail_consume", {"consumer": consumer, "every": every, "times": times, "level": level, "most": most})


FAILS = (fail_consume(), advance(1_000), send(0), advance(45_000))


def played(*ops: Op, target: str = "reference") -> tuple[list[Event], set[str]]:
    """A trial's events, and the laws that it broke."""
    trial = run_trial(LAB, resolve.target(target), Schedule({"lab.nameServer": 1}, "seed", ops))
    return list(trial.events), {each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED}


def came(events: list[Event], message: str = "m1") -> list[tuple[str | None, int | None]]:
    return [
        (each.queue, each.value) for each in events
        if each.kind == "deliver" and each.group and each.message == message
    ]  # fmt: skip


def test_a_message_comes_again_with_ever_longer_delays_and_then_is_a_dead_letter() -> None:
    events, broken = played(*FAILS)
    retry = f"%RETRY%g{FALTERING}/0"
    assert not broken and came(events) == [("pairproof/0", None), (retry, 1), (retry, 2)]
    times = [each.t // MS for each in events if each.kind == "deliver" and each.message == "m1"]
    waits = [after - before for before, after in pairwise(times)]
    assert [each // 10 for each in waits] == [1_000, 3_000]
    (dead,) = [
        payload(each.detail) for each in events
        if each.kind == "record" and each.node == "master" and each.message == "m1" and "%DLQ%" in (each.queue or "")
    ]  # fmt: skip
    assert (dead["times"], dead["from"]) == (3, "pairproof")


def test_an_application_that_succeeds_at_last_gets_its_message_no_more() -> None:
    events, broken = played(fail_consume(times=1, level=1), advance(1_000), send(0), advance(9_000))
    assert not broken and [value for _, value in came(events)] == [None, 1]


def test_progress_waits_until_the_master_has_the_message() -> None:
    away = (
        fail_consume(times=1, level=1),
        advance(9_000),
        fault("stall", link="client-master", direction="up"),
        advance(500),
    )
    events, broken = played(*away, heal("stall"), send(0), advance(9_000), leave(FALTERING, 0))
    assert not broken
    began = {each.op: each for each in events if (each.kind, each.f) == ("back", "asked")}
    ended = {each.op: each.t for each in events if (each.kind, each.f) == ("back", "ok")}
    commits = [each for each in events if each.kind == "invoke" and each.f == "commit"]
    assert ended and commits
    for op, back in began.items():
        early = [each for each in commits if each.queue == back.queue and back.t < each.t < ended.get(op, back.t)]
        assert all((each.queue_offset or 0) <= (back.queue_offset or 0) for each in early)


def test_a_master_that_is_away_gets_its_messages_back_later() -> None:
    down = (
        fail_consume(times=1, level=1),
        advance(1_000),
        send(0),
        advance(20),
        fault("kill", node="master"),
        advance(9_000),
    )
    events, broken = played(*down, heal("kill"), advance(60_000))
    assert not broken and (f"%RETRY%g{FALTERING}/0", 1) in came(events, "m0")


def test_other_consumers_do_not_join_that_group() -> None:
    with pytest.raises(UsageError, match="is for fail_consume"):
        played(join(FALTERING, 0))


# The last needs a broker that does not take a message back.
@pytest.mark.parametrize(
    "mutant",
    [each for each in seeded_in(sent_back.__name__) if each.name != "sends_back_at_once"],
    ids=lambda mutant: mutant.name,
)
def test_a_small_program_shows_the_mutant(mutant: object) -> None:
    name, law = getattr(mutant, "name", ""), getattr(mutant, "law", "")
    _, broken = played(*FAILS, target=f"reference+{name}")
    assert law in broken
