"""Where each second of a trial in a lab with real time goes: wall s by phase and search, CPU s of all processes.

``python tests/bench/bench_real_trials.py [target] [lab] [trials]``: ``reference process 12`` by default, so many trials
of each search, one after the other, as ``check`` draws them. Beside what a phase took stands what the program itself
asked to wait. How many an hour come of it with several jobs, ``pairproof check --jobs N --trials M`` says.
"""

from __future__ import annotations

import resource
import sys
import time

from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.profiles import PROFILES
from pairproof.harness.exploration.slices import Slice, play
from pairproof.harness.history import MS
from pairproof.harness.trials import resolve
from pairproof.harness.trials.trial import Trial

SEARCHES = ("sweep", "swarm", "cluster")
MARKS = {"warm": "warm-up", "heal": "operations", "probe": "probe", "converged": "agree", "end": "rest and audit"}
"""Each mark of a trial, and the phase that ends with it."""
WAITS = ("advance", "await")


def main(target_name: str, lab_name: str, trials: int) -> None:
    """Print what was measured."""
    lab, target = resolve.lab(lab_name), resolve.target(target_name)
    explorer = Explorer(lab, target, PROFILES["quick"], "bench", trials=trials)
    for search in SEARCHES:
        phases: dict[str, list[float]] = {}
        listed = explorer._listed(search)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu, began = used.ru_utime + used.ru_stime + time.process_time(), time.monotonic()
        for number in range(trials):
            step = 1 if listed is None else max(1, len(listed) // trials)
            drawn = () if listed is None else (listed[number * step % len(listed)],)
            (trial,) = play(lab, target, Slice(search, "bench", number, 1, explorer.laws, explorer._keeps, drawn))
            now = time.monotonic()
            for phase, took in spent(trial, now - began):
                phases.setdefault(phase, []).append(took)
            began = now
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime + time.process_time() - cpu
        whole = sum(phases["whole"])
        print(f"{target_name} in {lab_name}, {search}: mean of {trials} trials, wall s (share)")
        for phase, took in phases.items():
            print(f"  {phase:24}{sum(took) / trials:7.2f}{sum(took) / whole:7.0%}")
        print(f"  CPU s: {cpu / trials:.2f} (nodes of living keepers are not counted)", flush=True)
    lab.close()


def spent(trial: Trial, whole: float) -> list[tuple[str, float]]:
    """Phases in their order, wall s; of the operations, what the program asked to wait."""
    rows, before = [], 0
    for each in trial.events:
        is_first = each.kind == "start" and each.node != "names" and not any(row[0].startswith("start") for row in rows)
        if is_first or (each.kind == "start" and each.node == "slave" and each.incarnation == 1):
            phase = f"start of {each.node}"
        elif each.kind == "mark" and each.f in MARKS:
            phase = MARKS[each.f]
        else:
            continue
        rows.append((phase, (each.t - before) / 1e3 / MS))
        before = each.t
    asked = sum(int(op.args["ms"]) for op in trial.schedule.ops if op.do in WAITS) / 1e3
    return [*rows, ("close and judge", whole - before / 1e3 / MS), ("(asked to wait)", asked), ("whole", whole)]


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0] if given else "reference", given[1] if given[1:] else "process", int(given[2]) if given[2:] else 12
    )  # fmt: skip
