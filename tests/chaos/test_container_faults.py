"""``memory_limit`` and ``replace``: what they ask of a lab of containers, imitated here; and no search draws them."""

from __future__ import annotations

import container_lab
import pytest

from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.commands.labs import abilities
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.ports.nodes import SCARCE, CanLimitMemory, CanReplaceImage, CanStartSecond
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.search import sweep
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Scalar, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reports import effects

SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
SIM = resolve.lab("sim")


def fault(name: str, **args: Scalar) -> Op:
    return Op("fault", {"name": name, **args})


def advance(ms: int) -> Op:
    return Op("advance", {"ms": ms})


def heal(name: str) -> Op:
    return Op("heal", {"name": name})


def execute(*ops: Op, **settings: Scalar) -> Trial:
    trial = run_trial(container_lab.LAB, TARGET, Schedule(settings, "containers", ops), laws=judge.all_laws())
    assert [each.law for each in trial.judgements if each.violations] == []
    return trial


def of(trial: Trial, node: str) -> list[Event]:
    """Its starts and ends after the warm-up and before the healing."""
    marks = {each.f: each.seq for each in trial.events if each.kind == "mark"}
    kinds = ("start", "stop", "crash")
    inside = [each for each in trial.events if marks["warm"] < each.seq < marks["heal"]]
    return [each for each in inside if each.node == node and each.kind in kinds]


@pytest.mark.parametrize("node", ["master", "slave"])
def test_who_is_killed_for_want_of_memory_crashes_and_comes_back_at_the_end(node: str) -> None:
    small = fault("memory_limit", node=node, mb=16)
    trial = execute(SEND, small, advance(2_000), heal("memory_limit"), advance(10))
    assert [(each.kind, each.f) for each in of(trial, node)] == [("crash", "process"), ("start", "abnormal")]
    assert trial.faults[0].effect == {"processes_killed": 1} and trial.skipped == ()


def test_a_limit_that_is_high_enough_did_nothing() -> None:
    trial = execute(fault("memory_limit", node="slave", mb=64), SEND, advance(2_000), heal("memory_limit"))
    assert of(trial, "slave") == [] and (trial.faults[0].bit, trial.faults[0].effect) == (0, {})


@pytest.mark.parametrize(("mb", "taken"), [(5, False), (6, True)])
def test_a_limit_that_no_engine_sets_is_refused(mb: int, taken: bool) -> None:
    if taken:
        execute(fault("memory_limit", node="slave", mb=mb))
        return
    with pytest.raises(UsageError, match="mb must be at least 6, not 5"):
        execute(fault("memory_limit", node="slave", mb=mb))


@pytest.mark.parametrize("node", ["slave", "master"])
def test_a_node_makes_room_for_another_image_and_takes_its_place_again_both_in_an_orderly_way(node: str) -> None:
    replaced = fault("replace", node=node, image="other")
    trial = execute(SEND, replaced, advance(6_000), SEND, advance(10), heal("replace"), advance(10))
    assert [each.kind for each in of(trial, node)] == ["stop", "start", "stop", "start"]
    assert trial.faults[0].effect["images_replaced"] == 2


def test_an_image_may_have_any_name_but_none() -> None:
    asked: list[str] = []

    class Session:
        def replace_image(self, node: str, image: str) -> None:
            asked.append(image)

    found = resolve.faults()["replace"]
    found.start(Session(), {"node": "slave", "image": "ghcr.io/somebody/broker:5.5.0"})
    assert asked == ["ghcr.io/somebody/broker:5.5.0"]
    with pytest.raises(UsageError, match="image cannot be ''"):
        execute(fault("replace", image=""))


def test_searches_draw_what_more_than_containers_can_and_nothing_else() -> None:
    assert set(resolve.faults()) - set(resolve.drawn()) == {"memory_limit", "replace", "second_master", "upgrade"}
    assert {CanLimitMemory, CanReplaceImage, CanStartSecond} == SCARCE
    drawn = [search.schedule("none", number) for search in (swarm, cluster) for number in range(300)]
    drawn += sweep.schedules(SIM, TARGET, "none")
    named = {op.args.get("name") for each in drawn for op in each.ops}
    assert named.isdisjoint({"memory_limit", "replace", "upgrade"}) and "disconnect" in named


def test_the_simulation_says_that_it_has_no_containers() -> None:
    can = abilities(SIM, resolve.faults(), resolve.operations()) or []
    assert "CanDisconnect" in can and {each.__name__ for each in SCARCE} & set(can) == {"CanStartSecond"}
    assert {each.__name__ for each in SCARCE - {CanStartSecond}} <= set(
        abilities(container_lab.LAB, resolve.faults(), resolve.operations()) or []
    )


@pytest.mark.parametrize("count", ["processes_killed", "limits_hit", "images_replaced", "processes_stopped"])
def test_what_such_faults_count_is_explained(count: str) -> None:
    assert effects.glossary([{"effect": {count: 1}}]) == [(count, effects.MEANINGS[count])]
