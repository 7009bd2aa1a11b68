"""Makes ``known_bugs.jsonl``: ``python -m pairproof.chaos.make_known_bugs [MUTANT ...]``.

Stored programs that still show their mutants stay, and with names all others. Every other mutant is hunted in the
simulation, with schedules as a real-time lab plays them; its shrunk program becomes one line. Mutants that need exact
timing or trials of minutes are printed and left out. Ten CPU minutes if no program is stored. Purpose:
docs/decisions/0058.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path

from ..harness.rocketmq import known_bugs
from ..harness.rocketmq.known_bugs import FILE
from ..harness.search import repeated
from ..harness.search.pacing import paced
from ..harness.system import KnownBug
from ..harness.trials import resolve
from ..harness.trials.abilities import Hosted, lacking
from ..harness.trials.schedule import Schedule
from .commands.mutants import TRIALS, fails_by, schedules
from .mutants import catalogue

SEED = "known-bugs"
BLACK_BOXES = Hosted(resolve.lab("process"), resolve.target("rocketmq-4.9.7"))
PACED = 800


def made(name: str) -> KnownBug | None:
    """The program of the mutant with this name; None if it was not found."""
    mutant = catalogue()[name]
    lab, target = resolve.lab("sim"), resolve.target(f"reference+{mutant.name}")
    fails = fails_by(lab, target, mutant.law)
    stored = next((each for each in known_bugs.of_mutants() if each.name == name), None)
    if stored is not None and fails(stored.schedule):
        return KnownBug(name, mutant.law, mutant.seen_in, stored.schedule)
    found = next((each for each in candidates() if fails(each)), None)
    if found is None:
        return None
    small = repeated.shrunk(BLACK_BOXES, found, fails)
    return KnownBug(mutant.name, mutant.law, mutant.seen_in, small)


@cache
def candidates() -> list[Schedule]:
    """Paced programs for every mutant, without duplicates; those for black boxes first."""
    lab, target = resolve.lab("sim"), resolve.target("reference")
    drawn = (paced(BLACK_BOXES, each) for _, each in islice(schedules(lab, target, SEED), TRIALS))
    once = {f"{each.settings} {each.program()}": each for each in drawn}
    return sorted(list(once.values())[:PACED], key=_asks_for_hooks)


def _asks_for_hooks(schedule: Schedule) -> bool:
    return bool(lacking(BLACK_BOXES, schedule.ops, resolve.faults(), resolve.operations()))


def main(names: list[str]) -> None:
    """Write all programs in the catalogue's order, and report each; make those of ``names``, or of all mutants."""
    found = {each.name: each for each in known_bugs.of_mutants()} if names else {}
    hunted = names or list(catalogue())
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name, each in zip(hunted, pool.map(made, hunted), strict=True):
            print(name, "not found" if each is None else each.schedule.program(), flush=True)
            found |= {name: each} if each is not None else {}
    place = Path(known_bugs.__file__).with_name(FILE)
    place.write_text(known_bugs.to_text(found[name] for name in catalogue() if name in found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
