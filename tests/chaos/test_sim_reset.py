"""Resets of a group's offsets in the simulation: only of a group without members, and on master and slave."""

from __future__ import annotations

import json

import pytest

from pairproof.harness.history import Event
from pairproof.harness.rocketmq.template import CONSUMING, advance, leave
from pairproof.harness.rocketmq.workloads import RESET
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

LEFT = (leave(0, 0), leave(0, 1), advance(12_000))


def played(*ops: Op, target: str = "reference") -> tuple[list[Event], set[str]]:
    trial = run_trial(resolve.lab("sim"), resolve.target(target), Schedule({"lab.nameServer": 1}, "seed", ops))
    return list(trial.events), {each.law for each in trial.judgements if each.broken}


def offsets(events: list[Event], node: str) -> set[int]:
    read = [each.detail for each in events if each.kind == "table" and (each.f, each.node) == ("offsets", node)]
    return set(json.loads(read[-1] or "{}")["pairproof@g0"].values())


def test_a_reset_reaches_the_slave() -> None:
    events, broken = played(*CONSUMING, *LEFT, RESET, advance(12_000))
    assert offsets(events, "master") >= {0} and offsets(events, "slave") == offsets(events, "master")
    assert not broken


def test_a_group_with_members_or_none_ever_is_not_reset() -> None:
    for ops in (CONSUMING, ()):
        events, broken = played(*ops, RESET, advance(100))
        asked = [each for each in events if each.kind == "invoke" and each.f == "commit" and each.broker is None]
        assert not asked and not broken


@pytest.mark.parametrize(
    ("mutant", "law"), [("copies_no_reset", "meta-converges"), ("saves_no_reset", "progress-persisted")]
)
def test_a_reset_that_is_not_taken_is_noticed(mutant: str, law: str) -> None:
    found: set[str] = set()
    for more in ((), (Op("fault", {"name": "kill", "node": "master"}), Op("heal", {"name": "kill"}), advance(6_000))):
        found |= played(*CONSUMING, *LEFT, RESET, advance(12_000), *more, target=f"reference+{mutant}")[1]
    assert law in found
