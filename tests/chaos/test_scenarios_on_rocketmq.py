"""Which scenarios real RocketMQ can keep to at all: what stands in the way of the others is said here, by scenario."""

from __future__ import annotations

import pytest

from pairproof.chaos.plan import Program
from pairproof.chaos.scenarios import library
from pairproof.chaos.scenarios.play import Plan, check, lacking
from pairproof.chaos.scenarios.scenario import Scenario, Step
from pairproof.harness.judging import judge
from pairproof.harness.ports import Target
from pairproof.harness.trials import resolve

PROCESS = resolve.lab("process")
JAVA = ("rocketmq-4.9.7", "rocketmq-5.5.0", "rocketmq-4.9.7-reference", "reference-rocketmq-4.9.7")
NO_HOOK = {"clock_skew", "disk_full", "disk_stall", "dispatch_stall", "lying_flush", "retention", "slow_disk"}
"""What nobody can do to a JVM."""
IN_THE_WAY = {
    "clock-jumps": "fault", "disk-full-on-either-side": "fault", "lying-disk": "fault",
    "disk-stalls-under-sync-flush": "fault", "dispatch-lags": "fault",
    "dispatch-lags-over-kill": "fault",
    "master-power-sync-flush": "fault", "retention-outruns-slave": "fault", "slave-power-loss": "fault",
    "image-replaced": "ability", "memory-limit": "ability", "network-disconnect": "ability",
    "queue-without-room": "ability",
}  # fmt: skip


def has_hooks(target: Target, node: str) -> bool:
    plan = target.plan(target.settings({"lab.slaves": 3, "lab.nameServer": 1, "lab.others": 1}))  # type: ignore[attr-defined]
    program = plan.node(node).form(Program)
    return bool(program.hooks)


def cannot(step: Step, target: Target) -> bool:
    args = step.op.args
    node = str(args.get("node"))
    if step.op.do != "fault" or node == "None" or has_hooks(target, node):
        return False
    return args["name"] in NO_HOOK or (args["name"] == "power_loss" and args.get("keep") in ("half", "hole"))


def in_the_way(scenario: Scenario, target: Target) -> str:
    """Why it can never be green; empty if it can."""
    if lacking(scenario, PROCESS):
        return "ability"
    if any(cannot(step, target) for case in scenario.cases for step in case.steps):
        return "fault"
    laws = judge.laws({law for case in scenario.cases for law in case.judged})
    return "" if any(law.needs <= PROCESS.observes(target) for law in laws) else "laws"


def test_most_scenarios_can_be_green_on_real_rocketmq() -> None:
    target = resolve.target("rocketmq-4.9.7")
    found = {name: in_the_way(library.shipped(name), target) for name in library.names()}
    assert {name: why for name, why in found.items() if why} == IN_THE_WAY
    assert 4 * len(IN_THE_WAY) < len(found)


@pytest.mark.parametrize(
    ("target", "versions"),
    [
        ("reference", ["4.4.0", "4.4.0", "4.9.2", "4.9.7", "5.5.0"]),
        ("rocketmq-4.9.7", ["4.9.7"]),
        ("rocketmq-5.5.0", ["5.5.0"]),
        ("reference-rocketmq-4.9.7", ["4.9.7"]),
    ],
)
def test_of_a_scenario_by_version_a_broker_of_one_version_plays_the_cases_of_its_own(
    target: str, versions: list[str]
) -> None:
    plan = Plan("process", target, "seed", repeat=1)
    scenario = library.shipped("sends-wait-by-version")
    assert [case.settings["rocketmqVersion"] for case, _ in plan.trials(scenario)] == versions
    two = plan._replace(most_cases=2).trials(scenario)
    assert [case.settings["rocketmqVersion"] for case, _ in two] == list(dict.fromkeys((versions[0], versions[-1])))


def test_a_scenario_that_is_about_another_version_only_is_played_as_what_the_target_is() -> None:
    scenario = library.shipped("sends-wait-by-version")
    older = scenario._replace(cases=scenario.cases[:3])
    assert len(Plan("process", "rocketmq-4.9.7", "seed", repeat=1).trials(older)) == 3


@pytest.mark.parametrize("name", JAVA)
def test_every_java_target_takes_the_settings_of_every_scenario(name: str) -> None:
    target = resolve.target(name)
    for each in library.names():
        check(library.shipped(each), target)
