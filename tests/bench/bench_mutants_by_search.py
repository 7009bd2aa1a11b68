"""Which search finds which mutant, and how soon: each search alone, each mutant, the same CPU seconds.

    .venv/bin/python tests/bench/bench_mutants_by_search.py [CPU seconds per search and mutant] [mutant ...]

A cell is "trials / CPU seconds" to the first violation of the mutant's declared law, or "-". The profiles' shares rest
on this table (docs/decisions/0016). Nothing here is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count, islice
from statistics import median
from time import process_time

from pairproof.chaos.mutants import Mutant, catalogue
from pairproof.harness.exploration.slices import rare_collection
from pairproof.harness.judging import judge as judging
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import cluster, swarm, truncation
from pairproof.harness.search import machine, sweep
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.trial import Trial

LAB = resolve.lab("sim")
CONTROL = resolve.target("reference")
SEED = "by-search"
Found = tuple[int, float] | None
"""Trials and CPU seconds until the law was violated."""


class Enough(Exception):
    """The machine has found it, or its time is up."""


def violates(trial: Trial) -> bool:
    return any(each.verdict is Verdict.VIOLATED for each in trial.judgements)


def enumerated(listed: Callable[[], Iterator[Schedule]]) -> Callable[[Mutant, float], Found]:
    def search(mutant: Mutant, seconds: float) -> Found:
        target, laws = resolve.target(f"reference+{mutant.name}"), judging.laws([mutant.law])
        began = process_time()
        for number, schedule in enumerate(listed(), 1):
            if violates(run_trial(LAB, target, schedule, laws=laws)):
                return number, process_time() - began
            if process_time() - began > seconds:
                break
        return None

    return search


def by_machine(mutant: Mutant, seconds: float) -> Found:
    target, laws = resolve.target(f"reference+{mutant.name}"), judging.laws([mutant.law])
    began = process_time()
    tried = 0
    hit = False

    def on_trial(trial: Trial) -> None:
        nonlocal tried, hit
        tried += not hit
        hit = hit or violates(trial)
        if hit or process_time() - began > seconds:
            raise Enough

    try:
        machine.explore(LAB, target, laws, SEED, seconds, 1_000_000, on_trial)
    except Enough:
        pass
    return (tried, process_time() - began) if hit else None


SWEEP = sweep.schedules(LAB, CONTROL, SEED)
CUTS = truncation.schedules(LAB, CONTROL, SEED)
SEARCHES: dict[str, Callable[[Mutant, float], Found]] = {
    "sweep": enumerated(lambda: iter(SWEEP)),
    "truncation": enumerated(lambda: iter(CUTS)),
    "swarm": enumerated(lambda: (swarm.schedule(SEED, number) for number in count())),
    "cluster": enumerated(lambda: (cluster.schedule(SEED, number) for number in count())),
    "machine": by_machine,
}


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    chosen = [catalogue()[name] for name in islice(sys.argv, 2, None)] or list(catalogue().values())
    found: dict[str, list[Found]] = {name: [] for name in SEARCHES}
    print(f"{seconds} CPU seconds each; sweep {len(SWEEP)}, cuts {len(CUTS)} schedules")
    print("| mutant | law |", " | ".join(SEARCHES), "|\n|", "---|" * (2 + len(SEARCHES)))
    for mutant in chosen:
        cells = []
        for name, search in SEARCHES.items():
            one = search(mutant, seconds)
            found[name].append(one)
            cells.append(f"{one[0]} / {one[1]:.2f}" if one else "-")
        print(f"| {mutant.name} | {mutant.law} |", " | ".join(cells), "|", flush=True)
    for name, all_of in found.items():
        hits = [each for each in all_of if each]
        middle = f"median {median(each[0] for each in hits):.0f} trials" if hits else "nothing"
        alone = sum(
            1 for at, one in enumerate(all_of) if one and not any(found[other][at] for other in found if other != name)
        )
        print(f"{name}: {len(hits)} of {len(chosen)} found, {alone} by it alone; {middle}")


if __name__ == "__main__":
    with rare_collection():
        main()
