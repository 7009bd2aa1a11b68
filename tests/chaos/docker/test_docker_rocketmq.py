"""Real RocketMQ in containers: the same program as in the process lab, in an image of Debian with a JRE."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from real_labs import left

from pairproof.chaos.labs.docker.lab import DockerLab
from pairproof.chaos.rocketmq.install import V4
from pairproof.chaos.targets import rocketmq
from pairproof.harness import judge
from pairproof.harness.errors import LabError
from pairproof.harness.interpreter import run_trial
from pairproof.harness.schedule import Op, Schedule
from pairproof.harness.verdict import Verdict

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_engine")]
SEND = Op("send", {"producer": 1, "size": 100, "wait": True, "queue": 0})


@pytest.fixture
def lab(labs_folder: Path) -> Iterator[DockerLab]:
    try:
        V4.find()
    except LabError as why:
        pytest.skip(str(why))
    made = DockerLab()
    yield made
    made.close()
    assert left(labs_folder) == []


def test_a_java_pair_in_containers_keeps_the_laws_over_a_kill_and_without_its_network(lab: DockerLab) -> None:
    steps = [Op("fault", {"name": "disconnect", "node": "slave"}), SEND, Op("advance", {"ms": 300})]
    steps += [Op("heal", {"name": "disconnect"}), Op("fault", {"name": "kill", "node": "master"}), SEND]
    trial = run_trial(lab, rocketmq.V4, Schedule({}, "seed", (SEND, *steps)), laws=judge.all_laws())
    assert trial.skipped == ()
    assert [each for each in trial.judgements if each.verdict is Verdict.VIOLATED] == []
    assert [each.f for each in trial.events if each.kind == "mark"][-2:] == ["converged", "end"]
    assert sum(each.kind == "crash" for each in trial.events) == 1
