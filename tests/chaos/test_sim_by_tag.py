"""Consumers that subscribe by tag, in the simulation: what they get, what is recorded, and what their mutants do."""

from __future__ import annotations

import pytest

from pairproof.chaos.labs.sim.lab import LAB
from pairproof.chaos.mutants import by_tag
from pairproof.chaos.mutants.mutant import seeded_in
from pairproof.harness.history import Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.operations import scope
from pairproof.harness.rocketmq.template import advance, fault, heal, join, leave, send
from pairproof.harness.texts.content import payload
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

ANY, ONE = sorted(scope.BY_TAG)
"""The group that wants two tags, and the one that wants one."""
SENDS = (*[send(0)] * 6, advance(1_000))


def played(*ops: Op, target: str = "reference") -> tuple[list[Event], set[str]]:
    """A trial's events, and the laws that it broke."""
    trial = run_trial(LAB, resolve.target(target), Schedule({"lab.nameServer": 1}, "seed", ops))
    return list(trial.events), {each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED}


def tags(events: list[Event], group: int) -> set[str]:
    """Those of the messages that came to the group."""
    sent = {each.message: payload(each.detail).get("tags", "") for each in events if each.kind == "invoke"}
    return {sent[each.message] for each in events if each.kind == "deliver" and each.group == f"g{group}"}


def test_each_group_gets_its_own_tags_and_not_one_with_the_same_hash() -> None:
    events, broken = played(join(ANY, 0), join(ONE, 0), join(0, 0), advance(1_000), *SENDS)
    assert not broken
    assert (tags(events, ANY), tags(events, ONE)) == ({"a", "paidAa"}, {"paidBB"})
    assert tags(events, 0) == {"", "a", "paidAa", "paidBB"}
    said = {each.group: each.detail for each in events if each.kind == "consumer" and each.status == "on"}
    assert said == {"g2": '{"tags": "paidAa || a"}', "g3": '{"tags": "paidBB"}', "g0": None}


def test_without_such_a_group_messages_have_the_tags_that_they_always_had() -> None:
    events, _ = played(join(0, 0), advance(1_000), *SENDS)
    assert tags(events, 0) == {"", "a"}


def test_it_reads_on_from_a_slave_and_gets_all_that_it_wants() -> None:
    down = (join(ANY, 0), join(ANY, 1), advance(1_000), *SENDS, fault("kill", node="master"), advance(40_000))
    events, broken = played(*down, heal("kill"), advance(9_000), leave(ANY, 1), *SENDS, advance(20_000))
    assert not broken and tags(events, ANY) == {"a", "paidAa"}


PROGRAM = (
    join(ANY, 0), advance(1_000), *SENDS, fault("kill", node="slave"), advance(100), heal("kill"), advance(1_000),
    send(0), advance(1_000), *SENDS,
)  # fmt: skip


@pytest.mark.parametrize("mutant", seeded_in(by_tag.__name__), ids=lambda mutant: mutant.name)
def test_a_small_program_shows_the_mutant(mutant: object) -> None:
    name, law = getattr(mutant, "name", ""), getattr(mutant, "law", "")
    _, broken = played(*PROGRAM, target=f"reference+{name}")
    assert law in broken
