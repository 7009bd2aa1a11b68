"""The other control of labs with real time: on a quiet machine the laws of time still catch who is late.

    python tests/control/control_timing_mutants.py OUT [--sample N] [--longest SECONDS] [mutant ...]

Every mutant whose declared law is a law of time, or N of them that OUT's name draws, is caught and its program shrunk
in the simulation, and that program is played in the process lab, up to three times. Programs and results are kept in
OUT, so that this can be ended and begun again. Programs that let more time pass than told (90 s) are left out, and said
so. All of them take some five hours. Needs toxiproxy.

Printed is how many of the mutants were killed; of the others what became of their law. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

from pairproof.chaos.commands.mutants import schedules
from pairproof.chaos.mutants import Mutant, catalogue
from pairproof.harness.errors import PairproofError
from pairproof.harness.judging import judge as judging
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.search import shrink
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.schedule_json import from_json

SEED = "timing"
TRIALS = 6_000
TIMES = 3
LONGEST_S = 90


def judged(lab: str, mutant: Mutant, schedule: Schedule) -> Judgement:
    """By the mutant's declared law alone."""
    target, laws = resolve.target(f"reference+{mutant.name}"), judging.laws([mutant.law])
    return run_trial(resolve.lab(lab), target, schedule, laws=laws).judgements[0]


def program(mutant: Mutant, path: Path) -> Schedule | None:
    """The smallest program that the simulation finds; None if it finds none."""
    if not path.exists():

        def caught(schedule: Schedule) -> bool:
            return judged("sim", mutant, schedule).verdict is Verdict.VIOLATED

        plays = (each for _, each in islice(schedules(resolve.lab("sim"), resolve.target("reference"), SEED), TRIALS))
        found = next(filter(caught, plays), None)
        small = None if found is None else shrink.shrink(SYSTEM, found, caught)
        path.write_text(json.dumps(None if small is None else small.to_json()))
    known = json.loads(path.read_text())
    return None if known is None else from_json(known)


def outcome(mutant: Mutant, out: Path, longest_s: int) -> str:
    """``killed``, or what became of it instead."""
    schedule = program(mutant, out / f"{mutant.name}.program.json")
    if schedule is None:
        return "no program"
    passes_s = sum(int(op.args["ms"]) for op in schedule.ops if op.do == "advance") / 1_000
    if passes_s > longest_s:
        return f"left out: {passes_s:.0f} s"
    said = ""
    for _ in range(TIMES):
        try:
            found = judged("process", mutant, schedule)
        except PairproofError as why:
            said = f"failed: {why}"
            continue
        if found.verdict is Verdict.VIOLATED:
            return "killed"
        said = f"{found.verdict}: {found.doubt or ''}"
    return said


def chosen(names: list[str], sample: int | None, seed: str) -> list[Mutant]:
    """The mutants of laws of time: those that are named, or so many of all."""
    timed = {law.id for law in judging.all_laws() if law.timed}
    found = [each for each in catalogue().values() if each.law in timed and (not names or each.name in names)]
    return found if sample is None else Random(seed).sample(found, min(sample, len(found)))


def main() -> None:
    """Print what was killed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("out", type=Path)
    options.add_argument("--sample", type=int)
    options.add_argument("--longest", type=int, default=LONGEST_S)
    options.add_argument("names", nargs="*")
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    for mutant in chosen(asked.names, asked.sample, asked.out.name):
        path = asked.out / f"{mutant.name}.result"
        if not path.exists():
            path.write_text(outcome(mutant, asked.out, asked.longest))
        said = path.read_text()
        counts[said.split(":")[0]] += 1
        print(f"{mutant.name} ({mutant.law}): {said}", flush=True)
    print(f"killed {counts['killed']} of {counts.total()}: {dict(counts)}")


if __name__ == "__main__":
    main()
