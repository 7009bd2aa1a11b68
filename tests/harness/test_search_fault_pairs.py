"""Pairs of faults: what is drawn, of which faults, for which labs."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from pairproof.harness.rocketmq.boundaries import CONVERSATIONS
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.search import fault_pairs, sweep
from pairproof.harness.search.pacing import paced
from pairproof.harness.system import PLAIN
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule

REFERENCE = resolve.target("reference")
SIM = Hosted(resolve.lab("sim"), REFERENCE)


@cache
def every() -> list[Schedule]:
    """Drawn for the first test that asks, not by each process that collects tests."""
    return [fault_pairs.schedule(SYSTEM, "s", number, SIM) for number in range(4_000)]


def faults(schedule: Schedule) -> list[str]:
    return [str(op.args["name"]) for op in schedule.ops if op.do == "fault"]


def swept() -> set[str]:
    """Faults that the sweep has."""
    every = resolve.drawn(SIM)
    return {
        name for name, each in every.items() for mode in SYSTEM.swept.modes if any(sweep.variants(SYSTEM, each, mode))
    }


def test_a_schedule_depends_on_seed_and_number_alone() -> None:
    assert [fault_pairs.schedule(SYSTEM, "s", number, SIM) for number in range(50)] == every()[:50]
    assert len({repr(fault_pairs.schedule(SYSTEM, seed, number, SIM)) for seed in "ab" for number in range(50)}) == 100


def test_every_fault_of_the_sweep_is_the_first_and_the_second_in_every_mode() -> None:
    for at in (0, 1):
        assert {faults(each)[at] for each in every()} == swept()
    modes = [dict(mode.settings) for mode in SYSTEM.swept.modes]
    assert all(any(mode.items() <= each.settings.items() for mode in modes) for each in every())
    assert all(any(mode.items() <= each.settings.items() for each in every()) for mode in modes)
    assert len({tuple(faults(each)[:2]) for each in every()}) > 600


def test_every_second_first_fault_is_over_when_the_other_begins_and_both_begin_at_any_event() -> None:
    behind = Counter(
        next(after.do for op, after in zip(each.ops[3:], each.ops[5:], strict=False) if op.do == "fault")
        for each in every()
    )
    assert set(behind) == {"heal", "fault"} and 1_800 < behind["heal"] < 2_200
    for at in (0, 1):
        steps = [[op.args["events"] for op in each.ops if op.do == "step"][at] for each in every()]
        assert set(steps) == set(range(fault_pairs.LATEST + 1))


def test_most_are_asked_nothing_at_their_end_and_where_time_is_real_none_is_told_to() -> None:
    ((_, unasked),) = Counter(each.settings[CONVERSATIONS] for each in every()).most_common(1)
    assert 2_000 < unasked < 4_000
    hosted = Hosted(resolve.lab("process"), REFERENCE)
    for number in range(20):
        drawn = fault_pairs.schedule(SYSTEM, "s", number, hosted)
        assert CONVERSATIONS not in drawn.settings and paced(hosted, drawn).ops


def test_a_target_without_faults_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "drawn", lambda lab: {})
    found = fault_pairs.schedule(PLAIN, "s", 0, None)
    assert faults(found) == [] and [op.do for op in found.ops] == ["write", "write", "advance"]


@pytest.mark.parametrize("number", range(8))
def test_the_reference_keeps_its_promises(number: int) -> None:
    trial = run_trial(*SIM, every()[number], origin="fault-pairs")
    assert not any(each.broken for each in trial.judgements) and not trial.skipped
