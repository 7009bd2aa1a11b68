"""Random user configurations on the unmutated reference in the simulation: every alarm is a false one.

    python tests/control/control_configurations.py --configurations 200 --trials 50 --seed S --out FOLDER [--part 1/4]

Each configuration is a master's and a slave's file, with one to nine documented keys a side, and in some of them single
settings of the lab. It is read as ``pairproof check --master-conf --slave-conf --set`` reads it. Then it plays programs
of the fixed corpus, fault pairs, the swarm and cluster trials. What is true of a configuration, and names its
setting, is counted apart: delay levels that differ between master and slave.

Parts share a folder and may run side by side; a configuration whose file is there is not played again. In FOLDER, for
each configuration: ``NNNN.json`` (settings, trials, alarms by law) and for each law that raised an alarm the first one,
``NNNN-LAW.json``, which ``pairproof replay`` executes. Exit status 1 if there is any alarm.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from control_runs import Part

from pairproof.harness.errors import UsageError
from pairproof.harness.exploration.slices import rare_collection
from pairproof.harness.judging.cause import violated
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.rocketmq.known.derived_under import LEVELS
from pairproof.harness.runs import atomic
from pairproof.harness.runs.writer import finding_json
from pairproof.harness.search import fault_pairs
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.trial import Finding, Trial

LAB = resolve.lab("sim")
SYSTEM = resolve.system("rocketmq")
MOST_KEYS = 9
SHARES = {"corpus": 0.3, "fault-pairs": 0.15, "swarm": 0.35, "cluster": 0.2}
EVERY: dict[str, tuple[object, ...]] = {
    "accessMessageInMemoryMaxRatio": (0, 1, 40, 100),
    "autoCreateSubscriptionGroup": ("true", "false"),
    "autoCreateTopicEnable": ("true", "false"),
    "brokerClusterName": ("DefaultCluster", "Cluster_1-X"),
    "brokerPermission": (2, 4, 6, 6, 6, 6),
    "cleanResourceInterval": (1_000, 10_000, 60_000),
    "defaultTopicQueueNums": (1, 4, 8, 16),
    "deleteWhen": ("00", "04", "12", "00;12"),
    "fileReservedTime": (1, 48, 72, 120),
    "flushCommitLogLeastPages": (0, 1, 4, 16),
    "flushCommitLogThoroughInterval": (0, 1_000, 10_000, 60_000),
    "flushConsumeQueueLeastPages": (0, 2, 8),
    "flushConsumeQueueThoroughInterval": (0, 3_000, 60_000),
    "flushConsumerOffsetInterval": (500, 5_000, 20_000, 60_000),
    "flushDiskType": ("ASYNC_FLUSH", "SYNC_FLUSH"),
    "flushIntervalCommitLog": (10, 100, 500, 1_000, 5_000),
    "flushIntervalConsumeQueue": (100, 1_000, 5_000),
    "haHousekeepingInterval": (1_000, 3_000, 10_000, 20_000, 60_000),
    "haSendHeartbeatInterval": (500, 1_000, 5_000, 10_000),
    "haSlaveFallbehindMax": (1, 3_000, 268_435_456),
    "haTransferBatchSize": (100, 512, 32_768, 65_536),
    "longPollingEnable": ("true", "false"),
    "mappedFileSizeCommitLog": (65_536, 1_048_576, 1_073_741_824),
    "mappedFileSizeConsumeQueue": (2_000, 6_000_000),
    "maxHashSlotNum": (10, 5_000_000),
    "maxIndexNum": (40, 20_000_000),
    "maxMessageSize": (1_000, 65_536, 4_194_304),
    "messageDelayLevel": ("1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h", "1s 2s", "1s 3s 2s 10s"),
    "messageIndexEnable": ("true", "false"),
    "offsetCheckInSlave": ("true", "false"),
    "registerNameServerPeriod": (10_000, 30_000, 60_000),
    "slaveReadEnable": ("true", "false"),
    "slaveTimeout": (500, 3_000, 10_000),
    "syncFlushTimeout": (500, 5_000, 10_000),
}
"""Keys that either side may have, with values of their documented ranges."""
LABS = {
    "lab.slaves": (1, 2, 3),
    "lab.latencyMicros": (100, 5_000, 50_000),
    "lab.spread": (1, 3, 10),
    "lab.gatherMicros": (0, 1_000, 50_000),
    "lab.flushMicros": (100, 20_000, 1_000_000),
    "rocketmqVersion": ("4.4.0", "4.9.2", "4.9.7", "5.5.0"),
}
LAB_SHARE = 0.4


def drawn(seed: str, number: int) -> tuple[dict[str, dict[str, object]], list[str]]:
    """The files, by side, and the single settings of the configuration with this number."""
    dice = Random(f"{seed}/configuration/{number}")
    files: dict[str, dict[str, object]] = {
        "master": {"brokerId": 0, "brokerRole": dice.choice(("ASYNC_MASTER", "SYNC_MASTER"))},
        "slave": {"brokerId": 1, "brokerRole": "SLAVE"},
    }
    for settings in files.values():
        for key in dice.sample(sorted(EVERY), dice.randint(1, MOST_KEYS)):
            settings[key] = dice.choice(EVERY[key])
    typed = []
    if dice.random() < LAB_SHARE:
        typed = [f"{key}={dice.choice(LABS[key])}" for key in dice.sample(sorted(LABS), dice.randint(1, 2))]
    return files, typed


def brought(name: str, files: dict[str, dict[str, object]], typed: list[str]) -> Any:
    """The target of that name under them, as the commands read them."""
    target: Any = resolve.target(name)
    with TemporaryDirectory() as folder:
        paths = {side: Path(folder) / f"{side}.conf" for side in files}
        for side, path in paths.items():
            path.write_text("".join(f"{key}={value}\n" for key, value in files[side].items()), encoding="utf-8")
        given, _ = target.bring(paths, typed)
    return target.given(given)


def schedules(seed: str, number: int, trials: int) -> list[tuple[str, Schedule]]:
    """So many, each with the search that it comes from."""
    dice, corpus = Random(f"{seed}/sample/{number}"), list(SYSTEM.corpus())
    own = f"{seed}/{number}"
    found: list[tuple[str, Schedule]] = []
    for origin, share in SHARES.items():
        for each in range(round(trials * share)):
            if origin == "corpus":
                found.append((origin, corpus[(number * 7 + each) % len(corpus)]))
            elif origin == "fault-pairs":
                found.append((origin, fault_pairs.schedule(SYSTEM, own, each, LAB)))
            else:
                draw = swarm.schedule if origin == "swarm" else cluster.schedule
                # Not the stories alone, which come first.
                found.append((origin, draw(own, each + dice.randrange(1_000), LAB)))
    return found


def play(folder: Path, name: str, seed: str, number: int, trials: int) -> dict[str, Any]:
    """One configuration; its file's contents."""
    files, typed = drawn(seed, number)
    target = brought(name, files, typed)
    alarms, true, refused = Counter[str](), Counter[str](), Counter[str]()
    replicated, played = Counter[bool | None](), 0
    for place, (origin, schedule) in enumerate(schedules(seed, number, trials)):
        schedule = resolve.scheduled(target, schedule)
        try:
            trial = run_trial(LAB, target, schedule, number=place, origin=origin)
        except UsageError as why:
            refused[str(why)] += 1
            continue
        except Exception as why:
            trial = Trial(place, origin, schedule, [], [])
            _keep(folder, name, number, alarms, trial, "raised", repr(why), traceback=traceback.format_exc())
            continue
        played += 1
        replicated[SYSTEM.replicated(trial.events)] += 1
        for each in violated(trial):
            if each.violations[0].text.startswith(LEVELS):
                true[each.law] += 1
                continue
            _keep(folder, name, number, alarms, trial, each.law, each.violations[0].text)
    return {
        "master": files["master"], "slave": files["slave"], "set": typed, "trials": played, "refused": dict(refused),
        "replicated": replicated[True], "alarms": dict(alarms), "true of it": dict(true),
    }  # fmt: skip


def _keep(
    folder: Path, name: str, number: int, alarms: Counter[str], trial: Trial, law: str, text: str, **more: str
) -> None:
    alarms[law] += 1
    if alarms[law] > 1:
        return
    path = folder / f"{number:04d}-{law}.json"
    found = Finding(law, text, name, LAB.name, trial.number, trial.number, trial.schedule,
                    len(trial.schedule.ops))  # fmt: skip
    atomic.put_json(path.parent, path.name, {**finding_json(found, path), **more})
    print(f"ALARM {path}: {law}: {text}", flush=True)


def main() -> int:
    """Parse the command line, play what is left of a part, print what came of it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--configurations", type=int, required=True, help="How many all parts draw together.")
    options.add_argument("--trials", type=int, default=50, help="Of each configuration.")
    options.add_argument("--seed", required=True, help="Decides all: take a fresh one for a fresh sample.")
    options.add_argument("--out", type=Path, required=True, help="Folder for results and alarms.")
    options.add_argument("--part", type=Part.parse, default=Part(0, 1), help="i/k: every k-th, from the i-th.")
    options.add_argument("--target", default="reference", help="Another target: reference+MUTANT raises alarms.")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found = []
    with rare_collection():
        for number in given.part.numbers(given.configurations, 0):
            path = given.out / f"{number:04d}.json"
            if not path.exists():
                atomic.put_json(path.parent, path.name, play(given.out, given.target, given.seed, number, given.trials))
            found.append(json.loads(path.read_text(encoding="utf-8")))
    alarms = Counter(law for each in found for law in each["alarms"])
    trials, refused = sum(each["trials"] for each in found), sum(sum(each["refused"].values()) for each in found)
    silent = sum(not each["replicated"] for each in found)
    true = sum(bool(each["true of it"]) for each in found)
    print(f"{len(found):,} configurations, {trials:,} trials, {refused:,} schedules refused, {silent} that never "
          f"replicate, {true} whose own settings differ; with an alarm, by law: {dict(alarms) or 'none'}")  # fmt: skip
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
