"""How fast the searches and the judge are on one core: trials, virtual seconds and events a second, laws on and off.

    .venv/bin/python tests/bench/bench_search.py [seconds per row]

CPU seconds of this process, so that a busy neighbour changes little; nothing here is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count, islice
from random import Random
from time import process_time

from pairproof.harness.exploration.coverage_table import CoverageTable
from pairproof.harness.exploration.slices import rare_collection
from pairproof.harness.judging import judge as judging
from pairproof.harness.rocketmq import cluster, swarm, topology, truncation
from pairproof.harness.rocketmq.coverage import cover
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.search import machine, sweep
from pairproof.harness.search.swarm import draw
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import Laws, run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule

LAB = resolve.lab("sim")
TARGET = resolve.target("reference")
NONE: Laws = ()


def sweeping() -> Iterator[Schedule]:
    found = sweep.schedules(LAB, TARGET, "bench")
    while True:
        yield from found


def cutting() -> Iterator[Schedule]:
    found = truncation.schedules(LAB, TARGET, "bench")
    while True:
        yield from found


def swarming() -> Iterator[Schedule]:
    return (swarm.schedule("bench", number) for number in count())


def wholly() -> Iterator[Schedule]:
    return (cluster.schedule("bench", number) for number in count())


def minute() -> Iterator[Schedule]:
    """Ten operations and five faults in sixty virtual seconds."""
    operations = resolve.doable()
    faults = [args for each in resolve.drawn().values() for args in sweep.variants(SYSTEM, each, SYSTEM.swept.modes[0])]
    for number in count():
        dice = Random(f"bench/{number}")
        ops: list[Op] = []
        for step in range(10):
            op = draw(dice, operations["send" if dice.random() < 0.7 else "pull"])
            ops.append(op._replace(args=topology.within(op.args, {})))
            if step % 2:
                args: Args = dice.choice(faults)
                ops += [Op("fault", args), Op("advance", {"ms": 6_000}), Op("heal", {"name": args["name"]})]
            ops.append(Op("advance", {"ms": 3_000}))
        yield Schedule({}, f"bench/{number}", tuple(ops))


def measure(what: str, schedules: Callable[[], Iterator[Schedule]], laws: Laws, seconds: float) -> None:
    trials = events = virtual = 0
    run_trial(LAB, TARGET, next(schedules()), laws=laws)
    began = process_time()
    for schedule in schedules():
        trial = run_trial(LAB, TARGET, schedule, laws=laws)
        trials += 1
        events += len(trial.events)
        virtual += trial.events[-1].t
        if process_time() - began > seconds:
            break
    row(what, "on" if laws else "off", trials, events, virtual, process_time() - began)


def row(what: str, laws: str, trials: int, events: int, virtual: int, spent: float) -> None:
    print(
        f"{what:<22} laws {laws:<3} {trials / spent:8.0f} trials/s {events / trials:7.0f} events/trial "
        f"{events / spent:9.0f} events/s {virtual / 1e9 / spent:9.0f} : 1 virtual : CPU  ({trials} trials)"
    )


def measure_machine(laws: Laws, seconds: float) -> None:
    seen: list[tuple[int, int]] = []
    began = process_time()
    for number in count():
        seen += [(len(each.events), each.events[-1].t) for each in machine.batch(LAB, TARGET, laws, "bench", number)]
        if (spent := process_time() - began) >= seconds:
            break
    row(
        "Hypothesis machine",
        "on" if laws else "off",
        len(seen),
        sum(e for e, _ in seen),
        sum(t for _, t in seen),
        spent,
    )


def measure_judge(laws: Laws) -> None:
    histories = [run_trial(LAB, TARGET, swarm.schedule("judge", number), laws=NONE).events for number in range(300)]
    each = sum(map(len, histories))
    observes = LAB.observes(TARGET)
    for goal in (10_000, 100_000, 1_000_000):
        judged = 0
        began = process_time()
        while judged < goal:
            for events in histories:
                judging.judge(events, laws, observes)
            judged += each
        spent = process_time() - began
        print(f"judge, in process      {judged:9d} events, {len(laws)} laws: {judged / spent:9.0f} events/s")


def measure_coverage() -> None:
    for what, schedules in (("sweep", sweeping()), ("swarm", swarming())):
        histories = [run_trial(LAB, TARGET, each, laws=NONE).events for each in islice(schedules, 300)]
        table = CoverageTable()
        began = process_time()
        for events in histories:
            table.merge(cover(events))
        spent = process_time() - began
        events_each = sum(map(len, histories)) / len(histories)
        print(f"coverage table, {what}: {spent / len(histories) * 1e6:.0f} us a trial of {events_each:.0f} events")


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    every = judging.all_laws()
    for laws in (NONE, every):
        measure("sweep", sweeping, laws, seconds)
        measure("truncation points", cutting, laws, seconds)
        measure("seeded swarm", swarming, laws, seconds)
        measure("cluster trials", wholly, laws, seconds)
        measure("10 ops, 5 faults, 60 s", minute, laws, seconds)
        measure_machine(laws, seconds)
    measure_judge(every)
    measure_coverage()


if __name__ == "__main__":
    with rare_collection():
        main()
