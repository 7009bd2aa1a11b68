"""Schedules for real-time labs: what only a simulation can do is replaced, and waits have limits."""

from __future__ import annotations

from functools import partial

import pytest

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import cluster, real_time, swarm, topology
from pairproof.harness.search import pacing as searching
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.schedule_json import from_json

TARGET = resolve.target("reference")
PROCESS = resolve.lab("process")
fitted = partial(searching.paced, Hosted(PROCESS, resolve.target("rocketmq-4.9.7")))
armed = partial(searching.paced, Hosted(PROCESS, TARGET))
"""For whom has no seam for triggers, and for whom has it."""
DRAWN = [make("paced", number) for make in (swarm.schedule, cluster.schedule) for number in range(300)]


def waits(found: Schedule) -> list[int]:
    return [int(op.args["ms"]) for op in found.ops if op.do in ("advance", "await")]


def test_no_wait_is_long_nor_all_of_them_together() -> None:
    assert any(sum(waits(each)) > searching.ALL_CLUSTER_MS for each in DRAWN)
    for each in map(fitted, DRAWN):
        is_whole = topology.has_names(each.settings)
        longest, together = (
            (searching.LONGEST_CLUSTER_MS, searching.ALL_CLUSTER_MS)
            if is_whole
            else (searching.LONGEST_MS, searching.ALL_MS)
        )
        assert sum(waits(each)) <= together and all(0 < ms <= longest for ms in waits(each))


def test_nothing_is_left_that_needs_a_simulation_and_everything_is_valid() -> None:
    for each in map(fitted, DRAWN):
        assert {op.do for op in each.ops}.isdisjoint({"step", "arm"})
        short = {name: value for name, value in real_time.SHORT.items() if each.settings[name] != value}
        assert each.settings.keys().isdisjoint(real_time.SIMULATED) and short.keys() <= {"syncFlushTimeout"}
        TARGET.settings(each.settings)
        assert from_json(each.to_json()) == each


def test_up_to_4_5_2_producers_are_more_patient_than_five_rounds_of_a_second() -> None:
    found = {str(each.settings.get("rocketmqVersion")): each.settings for each in map(fitted, DRAWN)}
    assert found["4.4.0"]["syncFlushTimeout"] == real_time.ALL_ROUNDS_MS > 5_000
    assert {found[each]["syncFlushTimeout"] for each in ("4.9.2", "4.9.7", "5.5.0")} == {1_500}


def test_everything_else_stays_in_its_order() -> None:
    changed = {"step", "arm", "advance", "await"}
    for each in DRAWN:
        kept = [op for op in each.ops if op.do not in changed]
        assert [op for op in fitted(each).ops if op.do not in changed and op.do != "fault"] == [
            op for op in kept if op.do != "fault"
        ]
        begun = [op.args["name"] for op in each.ops if op.do in ("fault", "arm")]
        assert [op.args["name"] for op in fitted(each).ops if op.do == "fault"] == begun


def test_what_is_paced_stays_as_it_is() -> None:
    for each in map(fitted, DRAWN):
        assert fitted(each) == each


@pytest.mark.parametrize(
    ("args", "begun"),
    [
        ({"name": "kill", "node": "slave"}, {"name": "kill", "node": "slave"}),
        # The trigger's node, where the fault has none.
        ({"name": "rogue_slave", "node": "slave", "character": "junk"}, {"name": "rogue_slave", "character": "junk"}),
    ],
)
def test_a_trigger_becomes_its_fault_where_nothing_can_be_armed(args: dict[str, str], begun: dict[str, str]) -> None:
    one = Schedule({}, "s", (Op("arm", {**args, "point": "append", "nth": 3}),))
    assert fitted(one).ops == (Op("fault", begun),)
    assert armed(one).ops == one.ops


def test_steps_become_short_waits_for_different_things() -> None:
    steps = tuple(Op("step", {"events": events}) for events in range(1, 26))
    waited = fitted(Schedule({}, "s", steps)).ops
    assert {op.args.get("what") for op in waited} == {None, "frames", "replicated"} and len(waited) == 25
    assert max(waits(Schedule({}, "s", waited))) <= searching.SOON_MS


def test_the_reference_is_clean_under_paced_schedules_too() -> None:
    for schedule in (*map(fitted, DRAWN[:40]), *map(armed, DRAWN[300:320])):
        trial = run_trial(resolve.lab("sim"), TARGET, schedule)
        assert [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED] == []
