"""Draws the schedules that ``control_digests.py`` plays: some of every search, the same each time.

    python tests/control/draw_schedules.py OUT [--count 20000] [--jobs 2]

Done once, at the commit that docs/decisions/0044 names; what searches draw later is another file, with other digests.
In the order of the file: the corpus, the sweep with all its modes alike, truncation points, templates, cluster trials,
programs of the Hypothesis machine (as they were played), paced schedules as real-time labs execute them, cases of the
scenarios, for each mutant the minimal program that shows it (played on that mutant), and the swarm; it fills the rest.
"""

from __future__ import annotations

import argparse
import json
import lzma
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from pairproof.chaos.commands import mutants
from pairproof.chaos.mutants import catalogue
from pairproof.chaos.scenarios import library, timeline
from pairproof.chaos.scenarios.play import Plan, lacking
from pairproof.harness.judging import judge as judging
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import cluster, swarm, truncation
from pairproof.harness.rocketmq.corpus import corpus
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.rocketmq.workloads import TEMPLATES
from pairproof.harness.search import machine, shrink, sweep
from pairproof.harness.search.pacing import paced
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule

SEED = "digests"
COUNT = 20_000
SHARES = {
    "sweep": 0.34,
    "truncation": 0.1,
    "cluster": 0.13,
    "machine": 0.07,
    "paced": 0.03,
    "scenario": 0.02,
    "mutants": 0.01,
}
"""Of the count; the swarm has what is left."""
CASES = 20
"""Of each scenario at most, evenly spread."""
HUNTED, SHRUNK = 400, 120
"""Trials that each mutant is looked for in, and executions that make its program smaller. A mutant that hides from them
is left out."""
LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")
BLACK_BOXES = Hosted(resolve.lab("process"), resolve.target("rocketmq-4.9.7"))


class Drawn(NamedTuple):
    """A schedule, the search it is of, and its target if that is not the reference."""

    origin: str
    schedule: Schedule
    target: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        target = {"target": self.target} if self.target else {}
        return {"origin": self.origin, **target, "schedule": self.schedule.to_json()}


def by_settings(found: Iterable[Schedule]) -> Iterator[Schedule]:
    """All of them, those with other settings in turn."""
    groups: dict[str, list[Schedule]] = {}
    for each in found:
        groups.setdefault(json.dumps(dict(each.settings), sort_keys=True), []).append(each)
    turns = [iter(each) for each in groups.values()]
    while turns:
        # Each turn takes one of every group that has any left.
        left = [(turn, next(turn, None)) for turn in turns]
        yield from (each for _, each in left if each is not None)
        turns = [turn for turn, each in left if each is not None]


def wholes(count: int) -> Iterator[Drawn]:
    """The stories, then what is drawn."""
    for number in range(count):
        yield Drawn("stories" if number < len(TEMPLATES) else "cluster", cluster.schedule(SEED, number, LAB))


def machines(count: int) -> Iterator[Drawn]:
    """Programs that Hypothesis drew while they were executed; nothing was judged."""
    batches = (machine.batch(LAB, REFERENCE, (), SEED, number) for number in range(-(-count // machine.BATCH)))
    return (Drawn("machine", each.schedule) for each in islice(chain.from_iterable(batches), count))


def paces(count: int) -> Iterator[Drawn]:
    """Schedules in the form that real-time labs execute, alternately of pairs and of whole trials."""
    # Behind the numbers that the searches themselves begin with.
    for number in range(count):
        make = (swarm.schedule, cluster.schedule)[number % 2]
        yield Drawn("paced", paced(BLACK_BOXES, make(f"{SEED}/paced", len(TEMPLATES) + number, LAB)))


def scenarios() -> Iterator[Drawn]:
    """Cases of all scenarios that the lab can play, once each."""
    plan = Plan(LAB.name, REFERENCE.name, SEED, repeat=1, most_cases=CASES)
    for scenario in map(library.shipped, library.names()):
        if not lacking(scenario, LAB):
            for case, seed in plan.trials(scenario):
                yield Drawn("scenario", timeline.compiled(case, seed))


@cache
def candidates() -> list[Schedule]:
    """In which mutants are looked for."""
    return [schedule for _, schedule in islice(mutants.schedules(LAB, REFERENCE, SEED), HUNTED)]


def minimal(name: str) -> Drawn | None:
    """The smallest program found that shows a mutant to the law that it declares."""
    target, laws = resolve.target(f"reference+{name}"), judging.laws([catalogue()[name].law])

    def caught(schedule: Schedule) -> bool:
        (judged,) = run_trial(LAB, target, schedule, laws=laws).judgements
        return judged.verdict is Verdict.VIOLATED

    for schedule in candidates():
        if caught(schedule):
            return Drawn("mutants", shrink.shrink(SYSTEM, schedule, caught, SHRUNK), target.name)
    print(f"{name} is not found in {HUNTED} trials: left out", file=sys.stderr)
    return None


def hunted(count: int, jobs: int) -> Iterator[Drawn]:
    """Minimal programs of as many mutants, evenly spread."""
    names = list(catalogue())
    chosen = names[:: -(-len(names) // count)] if count else []
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from (each for each in pool.imap(minimal, chosen) if each is not None)


def drawn(count: int, jobs: int) -> list[Drawn]:
    """``count`` schedules of all searches, in the order of the file."""
    shares = {name: round(share * count) for name, share in SHARES.items()}
    found = [Drawn("corpus", each) for each in corpus()]
    swept = islice(by_settings(sweep.schedules(LAB, REFERENCE, SEED)), shares["sweep"])
    cut = islice(truncation.schedules(LAB, REFERENCE, SEED), shares["truncation"])
    found += (Drawn("sweep", each) for each in swept)
    found += (Drawn("truncation", each) for each in cut)
    cases = list(scenarios())
    found += chain(
        wholes(shares["cluster"]),
        machines(shares["machine"]),
        paces(shares["paced"]),
        cases[:: max(1, -(-len(cases) // max(1, shares["scenario"])))],
        hunted(shares["mutants"], jobs),
    )
    found += (Drawn("swarm", swarm.schedule(SEED, number, LAB)) for number in range(count - len(found)))
    return found[:count]


def write(path: Path, found: Iterable[Drawn]) -> None:
    """A line each, compressed."""
    text = "".join(json.dumps(each.to_json(), separators=(",", ":")) + "\n" for each in found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def main() -> None:
    """Parse the command line, draw, write."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("out", type=Path)
    options.add_argument("--count", type=int, default=COUNT)
    options.add_argument("--jobs", type=int, default=2, help="Processes that hunt for mutants.")
    given = options.parse_args()
    found = drawn(given.count, given.jobs)
    write(given.out, found)
    counts = ", ".join(f"{origin} {count:,}" for origin, count in Counter(each.origin for each in found).items())
    print(f"{len(found):,} schedules ({counts}): {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
