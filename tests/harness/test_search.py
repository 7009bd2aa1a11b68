"""The searches are functions of their seed, and what shrinking returns still fails and is small."""

from __future__ import annotations

from collections import Counter

import pytest

from pairproof.harness import resolve, schedule
from pairproof.harness.errors import UsageError
from pairproof.harness.schedule import Op, Schedule
from pairproof.harness.search import shrink, swarm, sweep


def test_swarm_schedules_depend_on_seed_and_number_alone() -> None:
    assert swarm.schedule("a", 7) == swarm.schedule("a", 7)
    assert len({repr(swarm.schedule(seed, number)) for seed in "ab" for number in range(50)}) == 100


def test_swarm_uses_every_operation_fault_and_setting_sooner_or_later() -> None:
    drawn = [swarm.schedule("cover", number) for number in range(400)]
    ops = Counter(op.do for each in drawn for op in each.ops)
    faults = {op.args["name"] for each in drawn for op in each.ops if op.do == "fault"}
    assert set(ops) == set(schedule.OPS) and faults == set(resolve.faults())
    for name, values in swarm.SETTINGS.items():
        assert {each.settings[name] for each in drawn} == set(values)


def test_swarm_schedules_survive_json() -> None:
    for number in range(50):
        drawn = swarm.schedule("json", number)
        assert schedule.from_json(drawn.to_json()) == drawn


def test_sweep_is_every_fault_at_every_boundary_in_every_mode() -> None:
    lab, target = resolve.lab("sim"), resolve.target("reference")
    found = sweep.schedules(lab, target, "s")
    modes = {(each.settings["brokerRole"], each.settings["flushDiskType"]) for each in found}
    lasting = [args for fault in resolve.faults().values() for args in sweep.variants(fault)]
    brief = [args for args in lasting if args["name"] in sweep.BRIEF]
    boundaries = {
        mode: {
            next(op.args["events"] for op in each.ops if op.do == "step")
            for each in found
            if (each.settings["brokerRole"], each.settings["flushDiskType"]) == mode
        }
        for mode in modes
    }
    assert len(modes) == 4
    assert all(seen == set(range(max(seen) + 1)) and max(seen) > 15 for seen in boundaries.values())  # type: ignore[type-var, operator]
    assert len(found) == sum(len(seen) for seen in boundaries.values()) * (len(lasting) + len(brief))
    assert len({repr(each) for each in found}) == len(found)


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
    small = shrink.shrink(Schedule({}, "s", tuple(ops)), _needs("down", "kill"))
    assert [op.args["name"] for op in small.ops] == ["down", "kill"]


def test_shrinking_tries_simpler_values_and_settings() -> None:
    big = Op("send", {"producer": 3, "size": 900, "wait": False, "queue": 2})
    start = Schedule({"brokerRole": "ASYNC_MASTER", "haTransferBatchSize": 100}, "s", (big,))

    def fails(candidate: Schedule) -> bool:
        sends = [op for op in candidate.ops if op.do == "send"]
        return (
            bool(sends) and int(sends[0].args["size"]) >= 100 and candidate.settings.get("brokerRole") == "ASYNC_MASTER"
        )

    small = shrink.shrink(start, fails)
    assert small.ops == (Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),)
    assert small.settings == {"brokerRole": "ASYNC_MASTER"}


def test_shrinking_is_bounded_and_never_returns_what_does_not_fail() -> None:
    start = swarm.schedule("bounded", 1)
    runs = 0

    def fails(candidate: Schedule) -> bool:
        nonlocal runs
        runs += 1
        return False

    assert shrink.shrink(start, fails, max_runs=17) == start and runs <= 17


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "format 1"),
        ({"format": 1, "settings": {}, "seed": "s", "ops": [["fly", {}]]}, "unknown 'fly'; valid: send, pull"),
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
        schedule.from_json(data)
    assert "\n" not in str(found.value)
