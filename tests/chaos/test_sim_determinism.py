"""One seed decides everything: the same history, byte for byte, in fresh processes and under any hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule

SCRIPT = """
import hashlib
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.rocketmq import swarm
from pairproof.harness.rocketmq import cluster
lab, target = resolve.lab("sim"), resolve.target("reference")
digest = hashlib.sha256()
schedules = [swarm.schedule("{seed}", number) for number in range(12)]
schedules += [cluster.schedule("{seed}", number) for number in range(12)]
for schedule in schedules:
    trial = run_trial(lab, target, schedule)
    digest.update(repr((trial.schedule, trial.events, trial.judgements, trial.faults)).encode())
print(digest.hexdigest())
"""


def digest_in_fresh_process(seed: str, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(seed=seed)], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout.strip()


def test_fresh_processes_and_hash_seeds_give_one_history() -> None:
    found = {digest_in_fresh_process("a", hash_seed) for hash_seed in ("0", "1", "random")}
    assert len(found) == 1
    assert digest_in_fresh_process("b", "0") not in found


@pytest.mark.parametrize("make", [swarm.schedule, cluster.schedule], ids=["pair", "cluster"])
@pytest.mark.parametrize("number", range(20))
def test_warm_process_repeats_a_history(make: Callable[[str, int], Schedule], number: int) -> None:
    lab, target = resolve.lab("sim"), resolve.target("reference")
    schedule = make("warm", number)
    assert run_trial(lab, target, schedule).events == run_trial(lab, target, schedule).events
