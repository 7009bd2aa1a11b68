"""The toy pair keeps the laws for any system, and each of its bugs breaks one that the simulation cannot observe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pairproof.chaos.labs.sim.lab import LAB as SIM
from pairproof.harness import registry
from pairproof.harness.errors import UsageError
from pairproof.harness.exploration import conformance
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.search import swarm
from pairproof.harness.system import PLAIN
from pairproof.harness.testing import toy
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

TRIALS = 400
LAWS = [law for law in judge.all_laws() if law.__module__.startswith("pairproof.harness.laws.")]
KILLERS = {
    "early": "promise-kept",
    "forgetful": "promise-kept",
    "reversed": "copy-follows",
    "keeps_refused": "written-only",
    "sleepy": "converges",
    "mortal": "node-lives",
}


def trials(target: toy.Toy) -> Iterator[Trial]:
    for number in range(TRIALS):
        yield run_trial(toy.LAB, target, swarm.schedule(PLAIN, "toy", number, toy.LAB), laws=LAWS)


def violated(trial: Trial) -> set[str]:
    return {each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED}


def test_the_toy_keeps_every_law_and_gives_each_something_to_judge() -> None:
    judged: set[str] = set()
    for trial in trials(toy.TARGET):
        assert violated(trial) == set(), trial.schedule.program()
        judged |= {each.law for each in trial.judgements if each.verdict is Verdict.HOLDS}
    assert judged == {law.id for law in LAWS}


@pytest.mark.parametrize("bug", toy.BUGS)
def test_each_bug_of_the_toy_is_caught_by_its_law(bug: str) -> None:
    assert any(KILLERS[bug] in violated(trial) for trial in trials(toy.TARGET.mutant(bug)))


def test_what_the_simulation_cannot_observe_a_bug_of_the_toy_breaks() -> None:
    sim = SIM.observes(resolve.target("reference"))
    blind = {law.id for law in judge.laws(sorted(registry.own("laws"))) if not law.needs <= sim}
    assert blind == {"promise-kept", "copy-follows", "written-only", "converges"} <= set(KILLERS.values())


def test_a_trial_of_the_toy_is_the_same_whenever_it_is_played() -> None:
    schedule = Schedule({}, "s", (Op("write", {"client": 0, "copies": 1}), Op("advance", {"ms": 100})))
    once, again = (run_trial(toy.LAB, toy.TARGET, schedule, laws=LAWS).events for _ in range(2))
    assert once == again and [each.kind for each in once].count("promise") == 2


def test_an_exploration_of_the_toy_finds_a_bug_and_makes_its_program_small() -> None:
    found = conformance.run(toy.TARGET.mutant("forgetful"), toy.LAB, trials=60, seed="a", first=True).findings
    assert [(each.law, [op.do for op in each.schedule.ops]) for each in found] == [
        ("promise-kept", ["write", "advance", "fault"])
    ]


def test_an_unknown_bug_of_the_toy_is_refused_with_those_it_has() -> None:
    with pytest.raises(UsageError, match="valid: early, forgetful"):
        toy.TARGET.mutant("late")
