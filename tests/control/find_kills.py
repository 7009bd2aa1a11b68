"""Where each mutant was killed: a small program for every one of them, which the tests of each commit play.

    python tests/control/find_kills.py [mutant ...]    default: those that FILE lacks or whose program kills no more

Each mutant is hunted with a few seeds in turn, since a hunt that is short with one of them takes minutes with another.
FILE says of each the seed, the number of trials that this took, and the program after shrinking. Mutants that no longer
exist are dropped. Two processes, some minutes for all of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from pairproof.chaos.commands.mutants import hunt, violated
from pairproof.chaos.mutants import catalogue
from pairproof.harness.errors import UsageError
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule_json import from_json

FILE = Path(__file__).resolve().parents[1] / "chaos" / "kills.jsonl"
HUNTS = (("mutants", 400), ("a", 400), ("b", 400), ("c", 800), ("d", 800), ("mutants", 6_000))
"""Seeds, each with the number of trials after which the next one is tried."""
JOBS = 2


def known() -> dict[str, dict[str, Any]]:
    """By mutant: ``mutant``, ``law``, ``seed``, ``trials`` and ``schedule``."""
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    return {each["mutant"]: each for each in map(json.loads, lines)}


def kills(row: dict[str, Any]) -> bool:
    """Whether a program still does what it is there for."""
    try:
        found = violated(resolve.lab("sim"), resolve.target(f"reference+{row['mutant']}"), from_json(row["schedule"]))
    except UsageError:
        return False
    return catalogue()[row["mutant"]].law == row["law"] and row["law"] in found


def hunted(name: str) -> dict[str, Any] | None:
    """A mutant's row; None if no seed gets it."""
    for seed, trials in HUNTS:
        kill = hunt(resolve.lab("sim"), catalogue()[name], seed, trials)
        if kill.killed:
            return {
                "mutant": name, "law": kill.law, "seed": seed, "trials": kill.trials, "schedule": kill.schedule,
            }  # fmt: skip
    return None


def write(rows: Iterable[dict[str, Any]]) -> None:
    """A line for each, in the order of their names."""
    lines = [json.dumps(each) for each in sorted(rows, key=lambda row: str(row["mutant"]))]
    FILE.write_text("".join(f"{each}\n" for each in lines))


def main(names: list[str]) -> int:
    """Exit code 1 if a mutant was not killed."""
    rows = {name: row for name, row in known().items() if name in catalogue() and name not in names and kills(row)}
    wanted = [name for name in catalogue() if name not in rows]
    with ProcessPoolExecutor(JOBS) as pool:
        for name, row in zip(wanted, pool.map(hunted, wanted), strict=True):
            print(f"{name}: " + ("not killed" if row is None else f"{row['law']} after {row['trials']} trials"))
            if row is not None:
                rows[name] = row
                write(rows.values())
    write(rows.values())
    return 0 if rows.keys() == catalogue().keys() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
