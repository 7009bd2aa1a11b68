"""The scenarios that come with pairproof: each is green on the reference, and each can fail.

Those with faults that only containers can have are played where these are imitated; in the simulation they are skipped.
"""

from __future__ import annotations

import container_lab
import pytest
from daily import IN_CONTAINERS, IN_PROCESSES

from pairproof.chaos.scenarios import library, page, reading, timeline
from pairproof.chaos.scenarios.play import HOLDS, SKIPPED, UNMET, VIOLATED, Plan, lacking, play, result
from pairproof.harness.ports import Lab
from pairproof.harness.ports.nodes import SCARCE
from pairproof.harness.rocketmq import topology
from pairproof.harness.trials import resolve

LIMITS = "a node's memory can be limited while it runs"
REPLACES = "a node's program can be replaced by another one"
FILLS_PARTLY = "a node's disk can lack room for some files only"
UNPLUGS = "a node's network cable can be pulled"

SIM = resolve.lab("sim")
NAMES = library.names()
CAUGHT = [(name, mutant) for name in NAMES for mutant in library.shipped(name).catches]
CLUSTER_S = 60.0
PAIR_S = 20.0
MOVED_S = 160.0


def in_containers(name: str) -> bool:
    return any(resolve.faults()[each].needs in SCARCE for each in faults(name))


def lab_for(name: str) -> Lab:
    return container_lab.LAB if in_containers(name) else SIM


def test_there_are_many_and_each_can_fail() -> None:
    assert len(NAMES) >= 40
    assert {name for name, _ in CAUGHT} == set(NAMES)


def faults(name: str) -> set[str]:
    return {str(s.op.args["name"]) for case in library.shipped(name).cases for s in case.steps if s.op.do == "fault"}


def test_every_fault_of_a_scenario_is_played_in_real_time_on_every_commit() -> None:
    daily = {*IN_CONTAINERS, *IN_PROCESSES}
    assert daily < set(NAMES)
    assert {each for name in daily for each in faults(name)} == {each for name in NAMES for each in faults(name)}


@pytest.mark.parametrize("name", NAMES)
def test_scenario_holds_on_the_reference_and_judges_what_it_is_about(name: str) -> None:
    scenario = library.shipped(name)
    target = resolve.target("reference")
    plan = Plan("sim", "reference", "files", repeat=1)
    found = [play(scenario, case, lab_for(name), target, seed) for case, seed in plan.trials(scenario)]
    whole = result(scenario, found, len(found))
    assert (whole.verdict, whole.reasons) == (HOLDS, [])
    assert all(each.case.expect.judged for each in found)


@pytest.mark.parametrize(("name", "mutant"), CAUGHT)
def test_scenario_catches_the_bug_that_it_names(name: str, mutant: str) -> None:
    scenario = library.shipped(name)
    target = resolve.target(f"reference+{mutant}")
    verdicts = (
        play(scenario, case, lab_for(name), target, seed).verdict
        for case, seed in Plan("sim", target.name, "files", repeat=1).trials(scenario)
    )
    assert any(each in (VIOLATED, UNMET) for each in verdicts)


@pytest.mark.parametrize(("name", "ability"), [("memory-limit", LIMITS), ("image-replaced", REPLACES)])
def test_scenario_that_needs_containers_is_skipped_elsewhere_and_says_why(name: str, ability: str) -> None:
    scenario = library.shipped(name)
    fault = str(scenario.cases[0].steps[0].op.args["name"])
    for case, seed in Plan("sim", "reference", "files", repeat=1).trials(scenario):
        found = play(scenario, case, SIM, resolve.target("reference"), seed)
        assert found.verdict == SKIPPED and found.trial.faults == ()
        assert found.doubts == (
            f"skipped: {fault}: not possible here: it requires that {ability} (labs that can: docker)",
        )


def test_no_other_scenario_needs_containers() -> None:
    assert [name for name in NAMES if in_containers(name)] == ["image-replaced", "memory-limit"]


@pytest.mark.parametrize(
    ("lab", "cannot"),
    [
        ("sim", {"image-replaced": (REPLACES,), "memory-limit": (LIMITS,)}),
        ("process", {"image-replaced": (REPLACES,), "memory-limit": (LIMITS,),
                     "network-disconnect": (UNPLUGS,), "queue-without-room": (FILLS_PARTLY,)}),
        ("docker", {"queue-without-room": (FILLS_PARTLY,)}),
    ],
)  # fmt: skip
def test_which_lab_lacks_the_abilities_for_which_scenario(lab: str, cannot: dict[str, tuple[str, ...]]) -> None:
    found = {name: lacking(library.shipped(name), resolve.lab(lab)) for name in NAMES}
    assert {name: lacks for name, lacks in found.items() if lacks} == cannot


class Bare:
    """A session without abilities."""


class BareLab:
    def open(self, *_: object) -> Bare:
        return Bare()


def test_what_workloads_and_armed_faults_need_counts_too() -> None:
    from_file = (
        "name: mine\nabout: x\nworkload:\n- delayed: {every: 1s, for: 2s, level: 1}\n"
        "timeline:\n- {at: 1s, arm: {node: slave, point: send, nth: 1, name: kill}}\nexpect: {}\n"
    )

    assert lacking(reading.from_text(from_file, "mine"), BareLab()) == (  # type: ignore[arg-type]
        "a trigger can be set where a node passes a point for the n-th time",
        "a node's process can be killed and started again",
        "a producer can send to any broker",
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_scenario_is_short_enough_for_real_time(name: str) -> None:
    scenario = library.shipped(name)
    if lacking(scenario, resolve.lab("docker")):
        # Real-time labs do not declare what it needs.
        return
    for case in scenario.cases:
        # Members of a group may still read an old route.
        most = MOVED_S if name == "retry-queues" else CLUSTER_S if topology.has_names(case.settings) else PAIR_S
        assert timeline.length_ms(case) <= most * 1_000


def test_page_names_every_scenario() -> None:
    made = page.made()
    assert {line.split("`")[1] for line in made.splitlines() if line.startswith("| `")} >= set(NAMES)
    assert all(len(line) > 20 for line in made.splitlines() if line.startswith("| `"))
