"""A pair whose settings keep clients from reading or writing (brokerPermission) is accused of nothing."""

import pytest

from pairproof.harness.rocketmq.template import advance, fault, group, join, pull
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

PRODUCE = Op("produce", {"producer": 0, "how": "turn", "wait": True, "queue": 0})
OPS = (
    group(0, 1, "master"), join(0, 0), advance(3_000), PRODUCE, pull("master"), advance(6_000),
    fault("kill", node="master"), advance(38_000),
)  # fmt: skip


@pytest.mark.parametrize("permission", [0, 2, 4])
@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_forbidden_client_accuses_no_broker(node: str, permission: int) -> None:
    settings = {"lab.nameServer": 1, "slaveReadEnable": True, f"{node}.brokerPermission": permission}
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule(settings, "s", OPS))
    assert [each.law for each in trial.violated] == []
