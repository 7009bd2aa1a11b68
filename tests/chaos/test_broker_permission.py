"""A pair whose settings keep clients from reading or writing (brokerPermission) is accused of nothing."""

import pytest

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

JOIN = Op("join", {"group": 0, "consumer": 0})
AT_SLAVE = Op("group", {"group": 0, "slowly": 1, "broker": 1, "node": "master"})
SEND = Op("produce", {"producer": 0, "how": "turn", "wait": True, "queue": 0})
PULL = Op("pull", {"reader": 0, "node": "master", "queue": 0})
KILL = Op("fault", {"name": "kill", "node": "master"})


def wait(ms: int) -> Op:
    return Op("advance", {"ms": ms})


@pytest.mark.parametrize("permission", [0, 2, 4])
@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_forbidden_client_accuses_no_broker(node: str, permission: int) -> None:
    settings = {"lab.nameServer": 1, "slaveReadEnable": True, f"{node}.brokerPermission": permission}
    ops = (AT_SLAVE, JOIN, wait(3_000), SEND, PULL, wait(6_000), KILL, wait(38_000))
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule(settings, "s", ops))
    assert [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED] == []
