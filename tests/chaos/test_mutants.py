"""What share of bugs would we catch? Every mutant, by the law that it declares; and no alarm without a mutant."""

from __future__ import annotations

from itertools import islice

import pytest

from pairproof.chaos.commands.mutants import control, hunt, schedules, violated
from pairproof.chaos.mutants import MUTANTS
from pairproof.harness import registry, resolve

LAB = resolve.lab("sim")
TRIALS = 6_000


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed_by_its_declared_law_with_a_small_program(name: str) -> None:
    kill = hunt(LAB, MUTANTS[name], "mutants", TRIALS)
    assert kill.killed, f"{kill.law} did not catch {name} in {TRIALS} trials"
    assert len(kill.program) <= 6, kill.program


def test_every_law_has_a_mutant_of_its_own() -> None:
    assert {each.law for each in MUTANTS.values()} == set(registry.names("laws"))


def test_unmutated_reference_raises_no_alarm_over_the_same_schedules() -> None:
    assert control(LAB, "mutants", 1_500) == []


def test_hunt_that_finds_nothing_says_so() -> None:
    # One trial of the sweep does not reach a power loss with a hole.
    assert not hunt(LAB, MUTANTS["skips_crc"], "mutants", 1).killed


def test_schedules_take_turns_until_an_enumerated_search_has_ended() -> None:
    origins = [origin for origin, _ in islice(schedules(LAB, resolve.target("reference"), "s"), 50_000)]
    assert origins[:6] == ["sweep", "cuts", "swarm"] * 2
    assert 1_000 < origins.count("cuts") < origins.count("sweep") < origins.count("swarm")
    assert set(origins[-100:]) == {"swarm"}


def test_mutant_leaves_the_correct_pair_alone() -> None:
    drawn = schedules(LAB, resolve.target("reference"), "mutants")
    broken = next(s for _, s in drawn if violated(LAB, resolve.target("reference+acks_at_once"), s))
    assert not violated(LAB, resolve.target("reference"), broken)
