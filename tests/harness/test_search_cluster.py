"""Cluster trials: seeded, valid, varied, and never about something that the trial does not have."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import count, islice

import pytest

from pairproof.harness.rocketmq import cluster, swarm, topology
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.rocketmq.template import astray, fault, join
from pairproof.harness.rocketmq.workloads import TEMPLATES
from pairproof.harness.search import shrink
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Args, Op, Scalar, Schedule
from pairproof.harness.trials.schedule_json import from_json

REFERENCE = resolve.target("reference")


@cache
def every() -> list[Schedule]:
    """Drawn for the first test that asks, not by each process that collects tests."""
    return [cluster.schedule("c", number) for number in range(4_000)]


def is_second(drawn: Schedule) -> bool:
    return topology.has_second_master(drawn.settings)


def test_whole_schedules_depend_on_seed_and_number_alone() -> None:
    assert cluster.schedule("a", 70) == cluster.schedule("a", 70)
    assert len({repr(cluster.schedule(seed, number)) for seed in "ab" for number in range(20, 70)}) == 100


@pytest.mark.parametrize("seed", ["a", "b"])
def test_each_story_comes_first_as_it_is_and_in_an_order_of_the_seed(seed: str) -> None:
    def first(seed: str) -> list[tuple[Op, ...]]:
        drawn = (cluster.schedule(seed, number) for number in count())
        return [each.ops for each in islice((each for each in drawn if not is_second(each)), len(TEMPLATES))]

    assert sorted(map(repr, first(seed))) == sorted(repr(template.ops) for template in TEMPLATES)
    assert first(seed) != first(seed + "x")


def test_one_trial_in_six_of_the_simulation_has_a_second_master() -> None:
    assert [number for number, each in enumerate(every()[:40]) if is_second(each)] == [2, 8, 14, 20, 26, 32, 38]
    process = resolve.lab("process")
    assert not any(is_second(cluster.schedule("c", number, process)) for number in range(100))
    assert cluster.schedule("c", 3, process).ops == cluster.schedule("c", 4).ops


def test_every_operation_setting_fault_and_place_is_drawn_sooner_or_later() -> None:
    ops = Counter(op.do for each in every() for op in each.ops)
    assert set(ops) == set(resolve.operations())
    faults = {op.args["name"] for each in every() for op in each.ops if op.do == "fault"}
    assert faults == {*resolve.drawn(), "second_master"}
    for name, values in cluster.SETTINGS.items():
        assert {each.settings.get(name, values[0]) for each in every()} >= set(values)
    named = {op.args.get(key) for each in every() for op in each.ops for key in ("node", "link") if op.do == "fault"}
    pair_of_slaves = topology.CLUSTER_ONLY - {topology.META_LINKS[2], topology.FAST_LINKS[2], topology.NAMES_LINKS[3]}
    assert pair_of_slaves <= named


def test_whole_schedules_are_valid_and_name_only_what_they_have() -> None:
    for drawn in every():
        assert from_json(drawn.to_json()) == drawn
        REFERENCE.settings(drawn.settings)
        missing = topology.absent(
            topology.slaves(drawn.settings), topology.has_names(drawn.settings), topology.has_other(drawn.settings)
        )
        assert missing.isdisjoint(value for op in drawn.ops for value in op.args.values())


def test_pairs_draw_nothing_that_only_whole_trials_have() -> None:
    for number in range(400):
        drawn = swarm.schedule("pair", number)
        assert topology.CLUSTER_ONLY.isdisjoint(value for op in drawn.ops for value in op.args.values())


@pytest.mark.parametrize(
    ("name", "settings", "similar"),
    [
        ("slave3", {"lab.slaves": 2}, "slave"),
        ("names-slave3", {"lab.slaves": 1, "lab.nameServer": 1}, "names-slave"),
        ("names-slave3", {"lab.slaves": 1}, "ha"),
        ("meta2", {"lab.slaves": 1, "lab.nameServer": 1}, "meta"),
        ("meta-fast2", {}, "ha"),
        ("names-client", {}, "client-master"),
        ("names-other", {"lab.nameServer": 1}, "names-master"),
        ("names-other", {}, "ha"),
        ("client-other", {"lab.nameServer": 1}, "client-master"),
        ("names", {}, "master"),
        ("other", {"lab.nameServer": 1}, "master"),
        ("other", {"lab.nameServer": 1, "lab.others": 1}, "other"),
        ("names-slave2", {"lab.slaves": 2, "lab.nameServer": 1}, "names-slave2"),
        ("ha3", {"lab.slaves": 3}, "ha3"),
    ],
)
def test_what_a_trial_lacks_becomes_something_similar(name: Scalar, settings: Args, similar: str) -> None:
    assert topology.within({"node": name, "ms": 1}, settings) == {"node": similar, "ms": 1}


def test_shrinking_a_whole_program_leaves_a_name_server_and_nothing_that_is_not_there() -> None:
    ops = (join(1, 2), astray("other", 2), fault("kill", node="names"))
    start = Schedule({"lab.nameServer": 1, "lab.others": 1, "lab.slaves": 2, "slaveReadEnable": True}, "s", ops)

    def fails(candidate: Schedule) -> bool:
        REFERENCE.settings(candidate.settings)
        missing = topology.absent(topology.slaves(candidate.settings), True, topology.has_other(candidate.settings))
        assert missing.isdisjoint(value for op in candidate.ops for value in op.args.values())
        return {"join", "send_to_wrong_broker"} <= {op.do for op in candidate.ops}

    small = shrink.shrink(SYSTEM, start, fails)
    assert small.settings == {"lab.nameServer": 1}
    assert small.ops == (join(0, 0), astray("master", 0))


def test_shrinking_may_drop_any_operation_of_a_story() -> None:
    for template in TEMPLATES:
        for at in range(len(template.ops)):
            left = Schedule(template.settings, "s", template.ops[:at] + template.ops[at + 1 :])
            assert from_json(left.to_json()) == left


def test_stories_end_no_fault_that_they_did_not_begin() -> None:
    for template in TEMPLATES:
        begun = {op.args["name"] for op in template.ops if op.do in ("fault", "arm")}
        assert {op.args["name"] for op in template.ops if op.do == "heal"} <= begun
        assert all(isinstance(op, Op) for op in template.ops)
