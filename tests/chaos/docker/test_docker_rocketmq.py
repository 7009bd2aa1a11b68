"""Real RocketMQ in containers: the same program as in the process lab, in an image of Debian with a JRE."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_labs import left, sends

from pairproof.chaos.labs.docker.lab import DockerLab
from pairproof.chaos.rocketmq.install import V4, V5
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_engine")]
SEND = Op("send", {"producer": 1, "size": 100, "wait": True, "queue": 0})


SETTINGS = {"haSendHeartbeatInterval": 500, "rocketmqVersion": "5.5.0", "inSyncReplicas": 2}
"""With the version those pairs that do not know the last one leave it out."""
PAIRS = (
    "rocketmq-5.5.0", "rocketmq@4.9.7,5.5.0", "rocketmq@5.5.0,4.9.7", "rocketmq@reference,5.5.0",
    "rocketmq@5.5.0,reference", "rocketmq-4.9.7-reference", "reference-rocketmq-4.9.7",
)  # fmt: skip


@pytest.fixture
def lab(labs_folder: Path) -> Iterator[DockerLab]:
    for each in (V4, V5):
        each.install()
    made = DockerLab()
    yield made
    made.close()
    assert left(labs_folder) == []


def test_a_java_pair_in_containers_keeps_the_laws_over_a_kill_and_without_its_network(lab: DockerLab) -> None:
    steps = [Op("fault", {"name": "disconnect", "node": "slave"}), SEND, Op("advance", {"ms": 300})]
    steps += [Op("heal", {"name": "disconnect"}), Op("fault", {"name": "kill", "node": "master"}), SEND]
    target = resolve.target("rocketmq@4.9.7,4.9.7,5.5.0")
    trial = run_trial(lab, target, Schedule({}, "seed", (SEND, *steps)), laws=judge.all_laws())
    assert trial.skipped == ()
    assert [each for each in trial.judgements if each.verdict is Verdict.VIOLATED] == []
    assert [each.f for each in trial.events if each.kind == "mark"][-2:] == ["converged", "end"]
    assert sum(each.kind == "crash" for each in trial.events) == 1


def at(node: str, fault: str, **args: str) -> list[Op]:
    """Sends while a fault lasts, and behind it."""
    wait = Op("advance", {"ms": 500})
    began = Op("fault", {"name": fault, "node": node, **args})
    return [began, *sends(4), wait, Op("heal", {"name": fault}), wait, *sends(4)]


def play(lab: DockerLab, target: str, *ops: Op) -> Trial:
    schedule = Schedule(SETTINGS, "seed", (*sends(4), *ops))
    trial = run_trial(lab, resolve.target(target), schedule, laws=judge.all_laws())
    assert trial.skipped == ()
    assert [(each.law, each.violations) for each in trial.judgements if each.verdict is Verdict.VIOLATED] == []
    assert [each.f for each in trial.events if each.kind == "mark"][-2:] == ["converged", "end"]
    return trial


@pytest.mark.nightly
@pytest.mark.parametrize("target", PAIRS)
def test_every_pair_of_versions_keeps_the_laws_in_containers(lab: DockerLab, target: str) -> None:
    trial = play(lab, target, *at("slave", "restart"), *at("master", "kill"))
    assert [(each.kind, each.node) for each in trial.events if each.kind in ("stop", "crash")] == [
        ("stop", "slave"), ("crash", "master"),
    ]  # fmt: skip


@pytest.mark.nightly
def test_a_rolling_upgrade_in_containers_keeps_the_laws_with_a_kill_between(lab: DockerLab) -> None:
    steps = [*at("slave", "upgrade", image="other"), *at("slave", "kill"), *at("master", "upgrade", image="other")]
    trial = play(lab, "rocketmq@4.9.7..5.5.0", *steps)
    configs = [(each.node, json.loads(each.detail or "")) for each in trial.events if each.kind == "config"]
    assert [(node, config["rocketmqVersion"]) for node, config in configs] == [
        ("master", "4.9.7"), ("slave", "4.9.7"), ("slave", "5.5.0"), ("master", "5.5.0"),
    ]  # fmt: skip
