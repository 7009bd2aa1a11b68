"""How a trial of the simulation grows with its length: CPU us and peak memory for each send, and ratios.

``python tests/bench/bench_growth.py [sends ...]``: 1,000, 10,000 and 100,000 by default. Three producers send, a
hundred at once, then 50 ms pass. Each trial runs in a process of its own, first without laws, then with all; the ratio
is to the first count. Linear means that it stays near 1. Nothing is asserted.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time

from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

AT_ONCE = 100
PAUSE = Op("advance", {"ms": 50})


def play(task: tuple[int, bool]) -> tuple[int, float, int]:
    """Events, CPU us a send, and the process's peak MB of a trial of so many sends, judged or not."""
    sends, judged = task
    lab, target = resolve.lab("sim"), resolve.target("reference")
    laws = None if judged else ()
    run_trial(lab, target, Schedule({}, "first", schedule(AT_ONCE)), laws=laws)
    began = time.process_time()
    trial = run_trial(lab, target, Schedule({}, "growth", schedule(sends)), laws=laws)
    took = time.process_time() - began
    return len(trial.events), took / sends * 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def schedule(sends: int) -> tuple[Op, ...]:
    """So many sends to four queues, and the pauses between."""
    found: list[Op] = []
    for number in range(sends):
        found.append(Op("send", {"producer": number % 3, "size": 100, "wait": True, "queue": number % 4}))
        if number % AT_ONCE == AT_ONCE - 1:
            found.append(PAUSE)
    return tuple(found)


def main(counts: list[int]) -> None:
    """Print what was measured."""
    for judged in (False, True):
        least = 0.0
        for sends in counts:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                events, each, peak = pool.apply(play, ((sends, judged),))
            least = least or each
            print(
                f"{'all laws' if judged else 'no laws ':8} {sends:9,} sends {events:10,} events {each:7.0f} us a send "
                f"{each / least:5.2f} x {peak:6,} MB",
                flush=True,
            )


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [1_000, 10_000, 100_000])
