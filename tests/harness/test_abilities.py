"""What labs can do is known before they start; searches draw no fault that the lab cannot inject."""

from __future__ import annotations

from typing import Any

import pytest

from pairproof.harness.ports import Session
from pairproof.harness.ports.links import CanCutLink
from pairproof.harness.ports.nodes import CanDisconnect
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.rocketmq.ports import CanConsume
from pairproof.harness.rocketmq.workloads import TEMPLATES
from pairproof.harness.search import machine, sweep
from pairproof.harness.search.swarm import FAULT_BUDGET
from pairproof.harness.trials import abilities, resolve
from pairproof.harness.trials.schedule import Op

SIM = resolve.lab("sim")
REFERENCE = resolve.target("reference")
FAULTS = resolve.faults()
OPERATIONS = resolve.operations()
CUT = Op("fault", {"name": "down", "link": "ha"})
JOIN = Op("join", {"group": 0, "consumer": 0})


class Cuts:
    """A session that can cut links, and nothing else."""

    def cut_link(self) -> None: ...
    def mend_link(self) -> None: ...
    def reset_link(self) -> None: ...


class CuttingLab:
    deterministic = True

    def open(self, *_: object) -> Cuts:
        return Cuts()


class IdleLab:
    deterministic = True

    def open(self, *_: object) -> str:
        return ""


class Plugs:
    def disconnect(self) -> None: ...
    def reconnect(self) -> None: ...


class Composed:
    """A session of two parts, of which the first has no ability."""

    parts: tuple[Composed, Cuts, Plugs]

    def __init__(self) -> None:
        self.parts = (self, Cuts(), Plugs())


class Better(Composed):
    """One that has an ability of its own."""

    def cut_link(self) -> None: ...
    def mend_link(self) -> None: ...
    def reset_link(self) -> None: ...


class ComposedLab:
    def open(self, *_: object) -> Composed:
        return Composed()


class BetterLab:
    def open(self, *_: object) -> Better:
        return Better()


class SilentLab:
    def open(self, *_: object) -> Any: ...


class PlainLab:
    def open(self, *_: object) -> Session:
        raise NotImplementedError


def of(lab: type) -> Any:
    return lab()


@pytest.mark.parametrize(
    ("op", "lacks"),
    [
        (CUT, []),
        (JOIN, ["CanConsume"]),
        (Op("fault", {"name": "kill", "node": "master"}), ["CanKill"]),
        (Op("arm", {"name": "kill", "node": "master", "point": "send", "nth": 1}), ["CanArm", "CanKill"]),
        (Op("heal", {"name": "kill"}), []),
        (Op("advance", {"ms": 1}), []),
    ],
)
def test_a_lab_lacks_what_an_operation_needs_and_its_fault(op: Op, lacks: list[str]) -> None:
    assert [each.__name__ for each in abilities.lacking(of(CuttingLab), [op], FAULTS, OPERATIONS)] == lacks
    assert abilities.lacking(SIM, [op], FAULTS, OPERATIONS) == []


def test_abilities_are_those_of_a_sessions_parts() -> None:
    session, own = Composed(), Cuts()
    assert abilities.part(session, CanCutLink) is session.parts[1]
    assert abilities.part(session, CanDisconnect) is session.parts[2]
    assert abilities.part(session, CanConsume) is None
    assert abilities.part(own, CanCutLink) is own, "without parts it is its only one"
    better = Better()
    assert abilities.part(better, CanCutLink) is better, "the first that has it"


@pytest.mark.parametrize("lab", [ComposedLab, BetterLab])
def test_they_are_known_from_the_annotation_of_its_parts(lab: type) -> None:
    assert abilities.abilities(of(lab), FAULTS, OPERATIONS) == ["CanCutLink", "CanDisconnect"]


@pytest.mark.parametrize("lab", [PlainLab, SilentLab])
def test_a_lab_that_says_nothing_lacks_nothing_as_far_as_is_known(lab: type) -> None:
    assert abilities.abilities(of(lab), {}, {}) is None
    assert abilities.lacking(of(lab), [CUT, JOIN], FAULTS, OPERATIONS) == []
    assert abilities.injectable(of(lab), FAULTS) == FAULTS


def test_only_what_a_lab_can_inject_is_drawn_and_all_of_it_where_it_would_be_nothing() -> None:
    assert {each.needs for each in resolve.drawn(of(CuttingLab)).values()} == {CanCutLink}
    assert resolve.drawn(of(IdleLab)) == resolve.drawn() == resolve.drawn(SIM)
    process, docker = (set(resolve.drawn(resolve.lab(name))) for name in ("process", "docker"))
    assert docker - process == {"disconnect"} and FAULTS["disconnect"].needs is CanDisconnect


def begun(ops: tuple[Op, ...]) -> set[Any]:
    return {op.args["name"] for op in ops if op.do in ("fault", "arm")}


class ModestLab(type(SIM)):  # type: ignore[misc]
    """The simulation, which says less than it can do."""

    parts = None

    def open(self, *arguments: Any) -> Cuts:
        return super().open(*arguments)  # type: ignore[no-any-return]


def test_searches_draw_what_the_lab_can_inject_and_nothing_else() -> None:
    lab, able = ModestLab(), set(resolve.drawn(of(CuttingLab)))
    drawn = [begun(swarm.schedule("d", number, lab).ops) for number in range(200)]
    assert set().union(*drawn) == able | begun(sum(swarm.STARTS, ()))
    templates = range(len(TEMPLATES), 400)
    plain = (cluster.schedule("d", number, lab) for number in templates)
    of_templates: set[Any] = set().union(*(begun(each.ops) for each in TEMPLATES))
    assert able <= set().union(*(begun(each.ops) for each in plain)) <= able | of_templates
    swept = {
        str(op.args["name"]) for each in sweep.schedules(lab, REFERENCE, "d") for op in each.ops if op.do == "fault"
    }
    assert swept == able


def test_the_state_machine_draws_what_the_lab_can_inject_and_nothing_else() -> None:
    heard = machine.batch(ModestLab(), REFERENCE, (), "d", 0)
    named = set().union(*(begun(each.schedule.ops) for each in heard))
    assert named and named <= {name for name, each in FAULTS.items() if each.needs is CanCutLink}
    heard = machine.batch(SIM, REFERENCE, (), "d", 0)
    assert {FAULTS[str(name)].needs for each in heard for name in begun(each.schedule.ops)} - {CanCutLink}


def test_few_faults_are_enough_for_every_search() -> None:
    lab = of(CuttingLab)
    assert 0 < len(resolve.drawn(lab)) < FAULT_BUDGET and not set(resolve.drawn(lab)) & set(cluster.USUAL[:1])
    for number in range(100):
        swarm.schedule("few", number, lab)
        cluster.schedule("few", number, lab)
