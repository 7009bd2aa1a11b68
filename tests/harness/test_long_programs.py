"""Long programs: one schedule in fifty has hundreds of operations; and what the first thousands of them accused."""

from __future__ import annotations

import json

import pytest

from pairproof.chaos.labs.sim.lab import LAB
from pairproof.harness.judging import judge
from pairproof.harness.judging.cause import violated
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.search.swarm import SLOTS
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule_json import from_json

PROCESS = resolve.lab("process")
NUMBER = swarm.LONG_ONE_IN // 2


def test_one_schedule_in_fifty_is_long_and_the_same_for_the_same_seed() -> None:
    lengths = [len(swarm.schedule("long", number, LAB).ops) for number in range(3 * swarm.LONG_ONE_IN)]
    long = [number for number, length in enumerate(lengths) if length > 2 * SLOTS]
    assert long == [NUMBER, NUMBER + swarm.LONG_ONE_IN, NUMBER + 2 * swarm.LONG_ONE_IN]
    assert min(lengths[number] for number in long) > swarm.LONG_SLOTS // 2
    drawn = swarm.schedule("long", NUMBER, LAB)
    assert drawn == swarm.schedule("long", NUMBER, LAB)
    faults = [op for op in drawn.ops if op.do in ("fault", "arm")]
    assert 2 < len(faults) <= swarm.LONG_FAULTS + 1
    for number in range(60 * swarm.LONG_ONE_IN):
        ops = swarm.schedule("long", number, LAB).ops
        assert sum(op.args.get("name") == "promotion" and op.do != "heal" for op in ops) <= 1


def test_one_cluster_trial_in_ten_is_long_where_time_is_simulated() -> None:
    numbers = range(1_000, 1_040)
    long = [number for number in numbers if len(cluster.schedule("long", number, LAB).ops) > 6 * cluster.SLOTS]
    assert long == [1_005, 1_015, 1_025, 1_035]
    assert max(len(cluster.schedule("long", number, PROCESS).ops) for number in numbers) < 6 * cluster.SLOTS
    for number in range(1_005, 3_000, cluster.LONG_ONE_IN):
        ops = cluster.schedule("long", number, LAB).ops
        assert sum(op.args.get("name") == "promotion" and op.do != "heal" for op in ops) <= 1


WAITS = '{"producer": 0, "size": 1, "wait": true, "queue": 0}'
ACCUSED = {
    # A slave that holds the log's end only is promoted, gives offsets a second time, and its old master comes back.
    "queue-dense": """
        {"settings": {"flushDiskType": "SYNC_FLUSH", "haSendHeartbeatInterval": 500}, "seed": "lng/13375", "ops": [
        ["send", {"producer": 0, "size": 30, "wait": true, "queue": 0}],
        ["batch", {"producer": 0, "count": 3, "size": 30, "wait": true, "queue": 2}],
        ["send", {"producer": 0, "size": 900, "wait": true, "queue": 0}], ["send", WAITS], ["advance", {"ms": 1}],
        ["fault", {"name": "promotion", "node": "slave", "rejoin": "wiped"}], ["heal", {"name": "promotion"}],
        ["arm", {"name": "promotion", "node": "slave", "rejoin": "stale", "point": "flush", "nth": 1}],
        ["advance", {"ms": 600}], ["heal", {"name": "promotion"}],
        ["edge_case_send", {"producer": 0, "what": "keys", "wait": true, "queue": 2}], ["step", {"events": 8}],
        ["advance", {"ms": 1}], ["fault", {"name": "promotion", "node": "slave", "rejoin": "wiped"}]]}""",
    # A client connects to a master without power, and sends more as soon as that has come back.
    "ack-no-wait": """
        {"settings": {"brokerRole": "ASYNC_MASTER"}, "seed": "lng/21325", "ops": [
        ["send", {"producer": 1, "size": 1, "wait": true, "queue": 0}],
        ["fault", {"name": "power_loss", "node": "master", "keep": "half"}],
        ["arm", {"name": "power_loss", "node": "master", "keep": "none", "point": "send", "nth": 4}],
        ["send", {"producer": 3, "size": 1, "wait": true, "queue": 0}],
        ["send", {"producer": 1, "size": 1, "wait": true, "queue": 0}], ["heal", {"name": "power_loss"}],
        ["fault", {"name": "power_loss", "node": "slave", "keep": "hole"}],
        ["send", {"producer": 3, "size": 1, "wait": true, "queue": 0}],
        ["batch", {"producer": 3, "count": 2, "size": 1, "wait": true, "queue": 0}], ["advance", {"ms": 6000}]]}""",
    # Two crowds of strangers.
    "ha-admits-slave": """
        {"settings": {"haSendHeartbeatInterval": 500, "lab.slaves": 3, "flushCommitLogThoroughInterval": 1000},
        "seed": "lnb/19525", "ops": [["fault", {"name": "down", "link": "ha"}], ["send", WAITS], ["send", WAITS],
        ["heal", {"name": "down"}], ["advance", {"ms": 3100}], ["send", WAITS],
        ["batch", {"producer": 0, "count": 2, "size": 1, "wait": true, "queue": 0}], ["send", WAITS],
        ["send", {"producer": 0, "size": 1700, "wait": true, "queue": 0}],
        ["arm", {"name": "rogue_slave", "character": "crowd", "node": "slave3", "point": "flush", "nth": 4}],
        ["send", WAITS], ["edge_case_send", {"producer": 0, "what": "keys", "wait": true, "queue": 0}],
        ["advance", {"ms": 6000}], ["fault", {"name": "rogue_slave", "character": "crowd"}],
        ["advance", {"ms": 3100}]]}""",
    # A slave is killed over a piece of a record, and its checkpoint is of a time when the master's clock was ahead:
    # here it was right to accuse the reference, which took the piece for whole.
    "log-prefix": """
        {"settings": {}, "seed": "lnd/51475", "ops": [
        ["fault", {"name": "clock_skew", "node": "master", "ms": 3600000}], ["send", WAITS], ["advance", {"ms": 1}],
        ["arm", {"name": "kill", "node": "slave", "point": "append", "nth": 2}],
        ["fault", {"name": "kill", "node": "slave"}], ["heal", {"name": "kill"}], ["heal", {"name": "clock_skew"}],
        ["send", {"producer": 0, "size": 900, "wait": true, "queue": 0}], ["advance", {"ms": 6000}]]}""",
    # What waits behind a flush that a slow disk holds up after it is a slow one no more.
    "log-flush-prompt": """
        {"settings": {"flushDiskType": "SYNC_FLUSH"}, "seed": "seed", "ops": [["advance", {"ms": 5}], ["send", WAITS],
        ["advance", {"ms": 2}], ["send", WAITS], ["fault", {"name": "slow_disk", "node": "master", "ms": 1500}],
        ["advance", {"ms": 200}], ["heal", {"name": "slow_disk"}], ["send", WAITS], ["advance", {"ms": 3000}]]}""",
}


@pytest.mark.parametrize("law", ACCUSED)
def test_nobody_is_accused_any_more(law: str) -> None:
    schedule = from_json({"format": 1, **json.loads(ACCUSED[law].replace("WAITS", WAITS))})
    target = resolve.target("reference")
    trial = run_trial(LAB, target, schedule, laws=judge.laws_for(target))
    assert not [(each.law, each.violations[0].text) for each in violated(trial)]
