"""The searches are functions of their seed, and what shrinking returns still fails and is small."""

from __future__ import annotations

from collections import Counter

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import swarm, topology
from pairproof.harness.rocketmq.boundaries import CONVERSATIONS
from pairproof.harness.rocketmq.settings import has_pool, promised_slaves
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.search import shrink, sweep
from pairproof.harness.search.pacing import paced
from pairproof.harness.system import Mode
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Scalar, Schedule
from pairproof.harness.trials.schedule_json import from_json

LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")
FULL = {"name": "disk_full", "node": "slave", "files": "all"}


def test_swarm_schedules_depend_on_seed_and_number_alone() -> None:
    assert swarm.schedule("a", 7) == swarm.schedule("a", 7)
    assert len({repr(swarm.schedule(seed, number)) for seed in "ab" for number in range(50)}) == 100


def test_swarm_uses_every_operation_fault_and_setting_sooner_or_later() -> None:
    drawn = [swarm.schedule("cover", number) for number in range(400)]
    ops = Counter(op.do for each in drawn for op in each.ops)
    faults = {op.args["name"] for each in drawn for op in each.ops if op.do == "fault"}
    # What needs a name server is drawn by cluster trials; where events can be counted nobody need wait for them.
    of_a_pair = set(resolve.operations()) - {
        "join",
        "leave",
        "topic",
        "group",
        "send_to_wrong_broker",
        "delayed",
        "await",
        "produce",
        "fail_consume",
        "reset",
        "transact",
        "recreate",
    }
    assert set(ops) == of_a_pair and faults == set(resolve.drawn())
    for name, values in swarm.SETTINGS.items():
        assert {each.settings.get(name, values[0]) for each in drawn} >= set(values)


def test_swarm_schedules_survive_json() -> None:
    for number in range(50):
        drawn = swarm.schedule("json", number)
        assert from_json(drawn.to_json()) == drawn


def test_versions_replicas_and_slaves_that_are_drawn_fit_each_other() -> None:
    target = resolve.target("reference")
    for number in range(400):
        settings = swarm.schedule("fit", number).settings
        target.settings(settings)
        assert int(settings.get("inSyncReplicas", 0)) <= topology.slaves(settings) + 1
    assert swarm.fitting({"rocketmqVersion": "4.9.7", "inSyncReplicas": 3}) == {"rocketmqVersion": "4.9.7"}
    fresh = {"rocketmqVersion": "5.5.0", "inSyncReplicas": 3, "lab.slaves": 1}
    assert swarm.fitting(fresh) == {**fresh, "lab.slaves": 2}


@pytest.mark.parametrize(("target", "waits"), [("rocketmq-5.5.0", 1), ("rocketmq-5.5.0@model", 1), ("reference", 0)])
def test_a_sync_master_of_5_x_waits_for_a_slave(target: str, waits: int) -> None:
    tested = resolve.target(target)

    def promised(**drawn: Scalar) -> int:
        settings = {"brokerRole": "SYNC_MASTER", "rocketmqVersion": "5.5.0", **drawn}
        return promised_slaves(tested.settings(resolve.fitted(tested, settings)))

    assert (promised(), promised(inSyncReplicas=3, **{"lab.slaves": 2}), promised(inSyncReplicas=1)) == (waits, 2, 0)
    assert promised(brokerRole="ASYNC_MASTER") == 0


def test_a_share_of_the_trials_has_a_pool() -> None:
    drawn = [swarm.schedule("pools", number).settings for number in range(600)]
    pooled = [each for each in drawn if has_pool(each)]
    assert 12 <= len(pooled) <= 60
    assert {each["flushDiskType"] for each in pooled} == {"ASYNC_FLUSH", "SYNC_FLUSH"}


def test_sweep_is_every_fault_at_every_boundary_in_every_mode() -> None:
    found = sweep.schedules(LAB, REFERENCE, "s")
    expected = 0
    for mode in SYSTEM.swept.modes:
        swept = [each for each in found if mode.settings.items() <= each.settings.items() and _mode(each) == mode]
        seen = {op.args["events"] for each in swept for op in each.ops if op.do == "step"}
        assert seen == set(range(max(seen) + 1)) and max(seen) > 15  # type: ignore[type-var, operator]
        lasting = [args for fault in resolve.drawn().values() for args in sweep.variants(SYSTEM, fault, mode)]
        brief = [args for args in lasting if args["name"] in SYSTEM.swept.brief]
        twice = [args for args in lasting if args["name"] in SYSTEM.swept.also_under]
        assert twice and len(swept) == len(seen) * (len(lasting) + len(brief) + len(twice))
        expected += len(swept)
    assert len(found) == expected <= 20_000
    assert len({repr(each) for each in found}) == len(found)


def _mode(each: Schedule) -> Mode:
    added = {*SYSTEM.swept.quick, CONVERSATIONS}.union(*SYSTEM.swept.also_under.values())
    plain = {name: value for name, value in each.settings.items() if name not in added}
    return next(mode for mode in SYSTEM.swept.modes if mode.settings == plain)


def test_in_real_time_every_fault_is_swept_once_the_first_mode_first_without_a_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = resolve.lab("process")
    monkeypatch.setattr(lab, "open", lambda *_: pytest.fail("a trial takes seconds there"), raising=False)
    found = sweep.schedules(lab, REFERENCE, "s")
    assert found != sweep.schedules(lab, REFERENCE, "t"), "the seed decides the order"
    first = SYSTEM.swept.modes[0]
    listed = [
        dict(args) for fault in resolve.drawn(Hosted(lab, REFERENCE)).values()
        for args in sweep.variants(SYSTEM, fault, first)
    ]  # fmt: skip
    begun = [[op.args for op in each.ops if op.do == "fault"] for each in found]
    assert all(any(args in each for each in begun[: 2 * len(listed)]) for args in listed)
    assert found == [paced(Hosted(lab, REFERENCE), each) for each in found]
    assert not any(op.do == "step" for each in found for op in each.ops)
    assert len({str(each._replace(settings=REFERENCE.settings(each.settings))) for each in found}) == len(found)


def test_full_disks_of_a_slave_are_swept_where_the_frame_that_is_lost_is_the_last() -> None:
    # With the default batch a record is several frames, and the next one gives the loss away: no schedule of the sweep
    # showed this mutant.
    target, laws = resolve.target("reference+ignores_full_disk"), judge.laws(["ha-appends-frames"])
    full = [each for each in sweep.schedules(LAB, REFERENCE, "s") if Op("fault", FULL) in each.ops][:60]
    verdicts = [run_trial(LAB, target, each, laws=laws).judgements[0].verdict for each in full]
    assert verdicts.count(Verdict.VIOLATED) >= 5


def test_first_mode_takes_all_of_a_fault_the_others_what_differs_there() -> None:
    class Both:
        name, needs, arguments = "both", object, {"link": ("ha", "client-master", "ha2"), "ms": (1, 2)}

    class Nowhere:
        name, needs, arguments = "nowhere", object, {"character": ("odd", "even")}

    def swept(fault: type, mode: Mode) -> list[tuple[object, ...]]:
        return [tuple(args.values())[1:] for args in sweep.variants(SYSTEM, fault(), mode)]

    first, second, fan_out = SYSTEM.swept.modes[0], SYSTEM.swept.modes[1], SYSTEM.swept.modes[-1]
    assert swept(Both, first) == [("ha", 1), ("ha", 2), ("client-master", 1), ("client-master", 2)]
    assert swept(Both, second) == [("ha", 1)] and swept(Both, fan_out) == [("ha2", 1)]
    assert swept(Nowhere, second) == [("odd",), ("even",)] and swept(Nowhere, fan_out) == []


def _needs(*wanted: str) -> shrink.StillFails:
    return lambda candidate: all(
        any(name == str(op.args.get("name", op.do)) for op in candidate.ops) for name in wanted
    )


def test_shrinking_leaves_only_what_the_failure_needs() -> None:
    noise = [
        Op("advance", {"ms": 20}),
        Op("step", {"events": 9}),
        Op("pull", {"reader": 1, "node": "slave", "queue": 2}),
    ]
    ops = [
        *noise,
        Op("fault", {"name": "down", "link": "ha"}),
        *noise,
        Op("fault", {"name": "kill", "node": "slave"}),
        *noise,
    ]
    small = shrink.shrink(SYSTEM, Schedule({}, "s", tuple(ops)), _needs("down", "kill"))
    assert [op.args["name"] for op in small.ops] == ["down", "kill"]


def test_shrinking_tries_simpler_values_and_settings() -> None:
    big = Op("send", {"producer": 3, "size": 900, "wait": False, "queue": 2})
    start = Schedule({"brokerRole": "ASYNC_MASTER", "haTransferBatchSize": 100}, "s", (big,))

    def fails(candidate: Schedule) -> bool:
        sends = [op for op in candidate.ops if op.do == "send"]
        return (
            bool(sends) and int(sends[0].args["size"]) >= 100 and candidate.settings.get("brokerRole") == "ASYNC_MASTER"
        )

    small = shrink.shrink(SYSTEM, start, fails)
    assert small.ops == (Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),)
    assert small.settings == {"brokerRole": "ASYNC_MASTER"}


def test_settings_that_only_borders_draw_go_one_by_one_and_the_kind_of_trial_stays() -> None:
    kind: dict[str, Scalar] = {"lab.nameServer": 1}
    drawn: dict[str, Scalar] = {
        "maxMessageSize": 700,
        "lab.spread": 5,
        "lab.gatherMicros": 0,
        "brokerRole": "SYNC_MASTER",
    }
    start = Schedule({**kind, **drawn}, "s", ())
    small = shrink.shrink(SYSTEM, start, lambda each: {"lab.spread", "maxMessageSize"} <= each.settings.keys())
    assert small.settings == {**kind, "maxMessageSize": 700, "lab.spread": 5}


def test_a_setting_that_goes_may_take_another_with_it() -> None:
    counted = {"rocketmqVersion": "5.5.0", "inSyncReplicas": 3, "haTransferBatchSize": 100}
    start = Schedule({**counted, "lab.slaves": 2}, "s", ())
    small = shrink.shrink(SYSTEM, start, lambda each: each.settings.get("haTransferBatchSize") == 100)
    assert small.settings == {"haTransferBatchSize": 100}


def test_shrinking_never_leaves_a_program_that_names_a_slave_it_has_not() -> None:
    kill = Op("fault", {"name": "kill", "node": "slave3"})
    start = Schedule({"lab.slaves": 3, "rocketmqVersion": "5.5.0", "inSyncReplicas": 4}, "s", (kill,))

    def fails(candidate: Schedule) -> bool:
        REFERENCE.settings(candidate.settings)
        named = {op.args["node"] for op in candidate.ops}
        return bool(named) and named.isdisjoint(topology.absent(topology.slaves(candidate.settings)))

    small = shrink.shrink(SYSTEM, start, fails)
    assert small.settings == {} and small.ops == (Op("fault", {"name": "kill", "node": "slave"}),)


def test_shrinking_is_bounded_and_never_returns_what_does_not_fail() -> None:
    start = swarm.schedule("bounded", 1)
    runs = 0

    def fails(candidate: Schedule) -> bool:
        nonlocal runs
        runs += 1
        return False

    assert shrink.shrink(SYSTEM, start, fails, max_runs=17) == start and runs <= 17


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "format 2"),
        ({"format": 1, "settings": {}, "seed": "s", "ops": [["fly", {}]]}, "unknown 'fly'; valid: advance, arm"),
        ({"format": 1, "settings": {}, "seed": "s", "ops": [["advance", {"ms": "soon"}]]}, "needs ms as int"),
        ({"format": 1, "settings": {}, "seed": "s", "ops": [["advance", {"ms": -1}]]}, "must not be negative"),
        ({"format": 1, "settings": {}, "seed": "s", "ops": [["advance", {"ms": True}]]}, "needs ms as int"),
        ({"format": 1, "settings": {}, "seed": "s", "ops": ["advance"]}, "is not \\[name, arguments\\]"),
        ({"format": 1, "settings": {}, "seed": 3, "ops": []}, "needs settings"),
        ([], "not a schedule"),
    ],
)
def test_what_is_no_schedule_gets_one_clear_line(data: object, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as found:
        from_json(data)
    assert "\n" not in str(found.value)
