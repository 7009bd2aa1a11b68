"""Measures where the time of a trial against real RocketMQ goes: wall s of each phase, and CPU s of all its processes.

``python tests/bench/bench_rocketmq_trials.py [target] [trials] [names]``: ``rocketmq-4.9.7``, 3 trials and a name
server (1) by default. A busy machine makes phases longer; waits and CPU s stay what they are.
"""

from __future__ import annotations

import resource
import sys
import time
from statistics import median

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.harness import resolve
from pairproof.harness.history import MS
from pairproof.harness.interpreter import Trial, run_trial
from pairproof.harness.schedule import Op, Schedule

SENDS = 5
SEND = Op("send", {"producer": 1, "size": 100, "wait": True, "queue": 0})
MARKS = {"warm": "warm-up", "heal": "operations", "probe": "probe", "converged": "agree", "end": "rest and audit"}
"""Each mark of a trial, and the phase that ends with it."""


def main(target: str, trials: int, names: int) -> None:
    """Print what was measured."""
    found, lab = resolve.target(target), ProcessLab()
    phases: dict[str, list[float]] = {}
    for number in range(trials):
        began = time.monotonic()
        trial = run_trial(lab, found, Schedule({"lab.names": names}, str(number), (SEND,) * SENDS))
        whole = time.monotonic() - began
        for phase, took in spent(trial, whole):
            phases.setdefault(phase, []).append(took)
    lab.close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{target}, lab.names={names}: median of {trials} trials, wall s (share)")
    whole = median(phases["whole"])
    for phase, took in phases.items():
        print(f"{phase:24}{median(took):7.1f}{median(took) / whole:7.0%}")
    print(f"CPU s of a trial's processes: {(used.ru_utime + used.ru_stime) / trials:.1f}; {3600 / whole:.0f} trials/h")


def spent(trial: Trial, whole: float) -> list[tuple[str, float]]:
    """Phases in their order, wall s."""
    rows, before = [], 0
    for each in trial.events:
        is_first = each.kind == "start" and each.node != "names" and not any(row[0].startswith("start") for row in rows)
        if is_first or (each.kind == "start" and each.node == "slave"):
            phase = f"start of {each.node}"
        elif each.kind == "mark" and each.f in MARKS:
            phase = MARKS[each.f]
        else:
            continue
        rows.append((phase, (each.t - before) / 1e3 / MS))
        before = each.t
    return [*rows, ("close and judge", whole - before / 1e3 / MS), ("whole", whole)]


if __name__ == "__main__":
    given = sys.argv[1:]
    main(given[0] if given else "rocketmq-4.9.7", int(given[1]) if given[1:] else 3, int(given[2]) if given[2:] else 1)
