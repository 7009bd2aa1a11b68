"""The search of moments has every fault at every pass of a point, new places first, and changes a share of others."""

from __future__ import annotations

from collections import Counter

import pytest

from pairproof.harness.rocketmq import cluster, moments, swarm
from pairproof.harness.rocketmq.moments import AT, NODES, POINTS, PROGRAMS, SHARE
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.schedule_json import from_json

LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")
EVERY = moments.schedules(LAB, REFERENCE, "s")
DRAWN = 400


def place(each: Schedule) -> tuple[object, ...]:
    return tuple(each.ops[0].args[key] for key in ("node", "point", "nth"))


def has_moment(each: Schedule) -> bool:
    return any(op.do == "await" or op.args.get("point") in POINTS for op in each.ops)


def test_every_pass_of_a_point_has_every_fault_of_its_call_once() -> None:
    passes = [each for program in PROGRAMS for each in moments.moments(LAB, REFERENCE, program)]
    assert {point for _, point, _ in passes} == set(POINTS) and {node for node, _, _ in passes} == set(NODES)
    expected = Counter(dict.fromkeys(passes, 0))
    for each in passes:
        expected[each] += len(AT[each[1].partition(":")[0]])
    assert Counter(map(place, EVERY)) == expected and len({repr(each) for each in EVERY}) == len(EVERY)


def test_new_places_come_first() -> None:
    firsts = [each for program in PROGRAMS for each in moments.moments(LAB, REFERENCE, program) if each[2] == 1]
    assert Counter(map(place, EVERY[: len(firsts)])) == Counter(firsts)


def test_the_seed_decides_the_order_alone() -> None:
    other = moments.schedules(LAB, REFERENCE, "t")
    assert list(map(place, other)) != list(map(place, EVERY))
    assert sorted(map(str, (each.ops for each in other))) == sorted(map(str, (each.ops for each in EVERY)))


def test_real_labs_have_no_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = resolve.lab("process")
    monkeypatch.setattr(lab, "open", lambda *_: pytest.fail("a trial takes seconds there"), raising=False)
    assert moments.schedules(lab, REFERENCE, "s") == []


@pytest.mark.parametrize("search", [swarm, cluster])
def test_a_share_of_seeded_trials_has_a_moment(search: object) -> None:
    drawn = [search.schedule("share", number, LAB) for number in range(100, 100 + DRAWN)]  # type: ignore[attr-defined]
    found = sum(map(has_moment, drawn))
    assert SHARE / 2 < found / DRAWN < SHARE * 2
    assert all(from_json(each.to_json()) == each for each in drawn)


def test_cluster_trials_read_at_moments() -> None:
    drawn = [cluster.schedule("reads", number, LAB) for number in range(100, 100 + DRAWN)]
    reads = [pair for each in drawn for pair in zip(each.ops, each.ops[1:], strict=False) if pair[0].do == "await"]
    assert reads and all(then.do == "pull" for _, then in reads)
    assert {str(op.args["what"]) for op, _ in reads} == set(moments.READS)


def test_other_trials_are_unchanged() -> None:
    plain = Schedule({}, "x", (Op("advance", {"ms": 1}),))
    found = [moments.at_moments(plain, "s", number, LAB) for number in range(DRAWN)]
    assert sum(each == plain for each in found) > DRAWN * (1 - 2 * SHARE)
    assert all(each.ops[0] == plain.ops[0] or plain.ops[0] in each.ops for each in found)
