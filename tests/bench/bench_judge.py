"""How fast the judge is with all laws: events per second over a long history, and the cost of one more small trial.

Run as a program; prints figures and asserts nothing: ``python tests/bench/bench_judge.py``.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from time import perf_counter, process_time

from pairproof.harness.history import Event, kinds
from pairproof.harness.judging import judge as judging
from pairproof.harness.judging.judge import Judge
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

ROUNDS = 5


def recorded(sends: int) -> list[Event]:
    """A trial of the simulated lab with this many sends, a slave killed in the middle."""
    ops: list[Op] = []
    for number in range(sends):
        ops.append(Op("send", {"producer": number % 3, "size": 100, "wait": number % 4 > 0, "queue": 0}))
        ops.append(Op("advance", {"ms": 5}))
        if number == sends // 2:
            ops.append(Op("fault", {"name": "kill", "node": "slave"}))
            ops.append(Op("heal", {"name": "kill"}))
    schedule = Schedule({}, "bench", tuple(ops))
    return run_trial(resolve.lab("sim"), resolve.target("reference"), schedule, laws=()).events


def best(run: Callable[[], object]) -> float:
    """Processor seconds of the fastest round."""
    took = []
    for _ in range(ROUNDS):
        gc.collect()
        began = process_time()
        run()
        took.append(process_time() - began)
    return min(took)


def main() -> None:
    """Print the figures."""
    laws, observes = judging.all_laws(), frozenset(kinds())
    began = perf_counter()
    for sends in (5, 100, 4_000):
        events = recorded(sends)
        seconds = best(lambda events=events: judging.judge(events, laws, observes))
        print(f"{len(events):>7} events: {len(events) / seconds:>10,.0f} events/s, {seconds * 1e6:,.0f} us a trial")
        idle = best(lambda events=events: judging.judge(events, (), observes))
        print(f"{'':>7} without laws: {len(events) / idle:>5,.0f} events/s (the model alone)")
    trials = 2_000
    build = best(lambda: deque((Judge(laws, observes) for _ in range(trials)), maxlen=1)) / trials
    print(f"building a judge of {len(laws)} laws: {build * 1e6:.1f} us")
    print(f"({perf_counter() - began:.1f} s in all)")


if __name__ == "__main__":
    main()
