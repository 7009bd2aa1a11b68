"""Which search finds which mutant, and how soon; the profile's shares that follow from it.

    python tests/bench/bench_mutants_by_search.py play FOLDER [--seeded 100] [--generic 200] [--seconds 3] [--seed S]
    python tests/bench/bench_mutants_by_search.py table FOLDER [--total 10]

``play`` draws a sample of seeded and of generic mutants by the seed, and plays each search alone with each of them, all
laws judged, until the mutant is noticed or its CPU seconds are over: a seeded mutant by its declared law, a generic one
by any law or a crash. FOLDER/kills.jsonl gets a line a mutant; called again, it goes on.

``table`` prints kills, kills of a search alone and kills per CPU second of each search, and the kills of a run of
``--total`` CPU seconds that divides them by a profile's shares: searches are independent, so a mutant is found if one
of them finds it within its share. The last line has the shares, in steps of 5 %, with the most kills in half, all and
twice that total; seeded and generic mutants count the same. Nothing here is asserted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import Any

HERE = Path(__file__).resolve()
LAB, REFERENCE = "sim", "reference"
SEARCHES = ("moments", "sweep", "truncation", "cluster", "swarm", "fault-pairs", "machine")
LISTED = 1_500
"""Schedules of an enumerated search that are kept: more than any mutant plays in its seconds."""
STEP = 5
Row = dict[str, Any]


# One mutant, in a process of its own: the hook must come before the imports of what it changes.


def child() -> None:
    task = json.load(sys.stdin)
    if task["module"]:
        from pairproof.chaos.generic import hook

        hook.install({task["module"]: hook.mutant(task["number"])}, {})
    print(json.dumps(_played(task)), flush=True)


def _played(task: Row) -> Row:
    found: Row = {}
    try:
        from pairproof.chaos.labs.sim import host, watchdog
        from pairproof.harness.exploration.slices import rare_collection
        from pairproof.harness.judging import judge
        from pairproof.harness.trials import resolve

        lab, target = resolve.lab(LAB), resolve.target(task["target"])
        laws = judge.laws_for(target)
        host.WATCHDOG.limit_s = watchdog.NEXT_LIMIT_S
    except Exception as why:
        return {"import": f"{type(why).__name__}: {why}"}
    with rare_collection():
        for search in SEARCHES:
            began = process_time()
            found[search] = None
            for number, broken in enumerate(_trials(search, lab, target, laws, task), 1):
                if broken & {task["law"]} if task["law"] else broken:
                    found[search] = [number, round(process_time() - began, 3), sorted(broken)[:3]]
                    break
                if process_time() - began > task["seconds"]:
                    break
    return found


def _trials(search: str, lab: Any, target: Any, laws: Any, task: Row) -> Iterator[set[str]]:
    """The laws that each trial of the search violates; ``crash`` if the mutant ends it."""
    from pairproof.harness.exploration.slices import seeded
    from pairproof.harness.judging.cause import violated
    from pairproof.harness.search import machine
    from pairproof.harness.trials import resolve
    from pairproof.harness.trials.abilities import Hosted
    from pairproof.harness.trials.interpreter import run_trial
    from pairproof.harness.trials.schedule_json import from_json

    try:
        if search == "machine":
            for number in count():
                for trial in machine.batch(lab, target, laws, task["seed"], number, machine.BATCH):
                    yield {each.law for each in violated(trial)}
        system = resolve.system_of(target)
        if search in task["listed"]:
            lines = Path(task["listed"][search]).read_text(encoding="utf-8").splitlines()
            drawn = (from_json(json.loads(line)) for line in lines)
        else:
            draw = seeded(system)[search]
            drawn = (draw(task["seed"], number, Hosted(lab, target)) for number in count())
        for schedule in drawn:
            yield {each.law for each in violated(run_trial(lab, target, schedule, origin=search, laws=laws))}
    except Exception:
        yield {"crash"}


# The parent.


def play(folder: Path, seeded: int, generic: int, seconds: float, seed: str) -> None:
    from pairproof.chaos.commands.mutants_generic import PACKAGES
    from pairproof.chaos.generic import sampling
    from pairproof.chaos.mutants import catalogue

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "kills.jsonl"
    done = {each["name"] for each in _read(file)}
    known = sorted(catalogue().values(), key=lambda each: each.name)
    chosen = Random(f"{seed}/by-search").sample(known, min(seeded, len(known)))
    tasks: list[Row] = [
        {"name": each.name, "law": each.law, "target": f"{REFERENCE}+{each.name}", "module": "", "number": 0}
        for each in chosen
    ]
    if generic:
        places, _ = sampling.sample(sampling.sources(PACKAGES), generic, seed)
        tasks += [
            {"name": each.key, "law": "", "target": REFERENCE, "module": each.module, "number": each.number}
            for each in places
        ]
    about = {"seed": seed, "seconds": seconds, "listed": _listed(folder, seed)}
    left = [each for each in tasks if each["name"] not in done]
    for number, task in enumerate(left, 1):
        began = process_time()
        answer = subprocess.run(
            [sys.executable, str(HERE), "child"], input=json.dumps({**task, **about}), capture_output=True, text=True,
            timeout=60 + 40 * seconds * len(SEARCHES), check=False,
        )  # fmt: skip
        found = json.loads(answer.stdout) if answer.stdout else {"import": answer.stderr[-200:]}
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"name": task["name"], "law": task["law"], **about, "found": found}) + "\n")
        print(f"{number} of {len(left)}: {task['name']} {found} {process_time() - began:.1f}", file=sys.stderr)


def _listed(folder: Path, seed: str) -> dict[str, str]:
    """Files with the enumerated searches' schedules, drawn from the unmutated pair."""
    from pairproof.harness.exploration.slices import enumerated
    from pairproof.harness.trials import resolve

    lab, target = resolve.lab(LAB), resolve.target(REFERENCE)
    listing = enumerated(resolve.system_of(target))
    files = {name: folder / f"{name}.jsonl" for name in listing if name in SEARCHES}
    for name, file in files.items():
        if not file.exists():
            schedules = list(listing[name](lab, target, seed))[:LISTED]
            file.write_text("".join(json.dumps(each.to_json()) + "\n" for each in schedules), encoding="utf-8")
    return {name: str(file.resolve()) for name, file in files.items()}


def _read(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


# The table.

Times = dict[str, float | None]
"""CPU seconds to the kill, by search."""


def kills(rows: list[Times], shares: dict[str, float], total: float) -> int:
    """Mutants that some search finds within its share of so many CPU seconds."""
    return sum(
        any((at := row.get(name)) is not None and at <= part * total for name, part in shares.items()) for row in rows
    )


def divided(parts: int, among: int) -> Iterator[tuple[int, ...]]:
    """All ways to give each of so many searches at least one part."""
    if among == 1:
        yield (parts,)
        return
    for first in range(1, parts - among + 2):
        for rest in divided(parts - first, among - 1):
            yield (first, *rest)


def best(groups: list[list[Times]], total: float, searches: tuple[str, ...]) -> dict[str, float]:
    """The shares with the most kills, each group (seeded, generic) counted by its ratio."""

    def worth(parts: tuple[int, ...]) -> float:
        shares = {name: part * STEP / 100 for name, part in zip(searches, parts, strict=True)}
        return sum(
            kills(group, shares, seconds) / len(group)
            for group in groups
            if group
            for seconds in (total / 2, total, 2 * total)
        )

    parts = max(divided(100 // STEP, len(searches)), key=worth)
    return {name: part * STEP / 100 for name, part in zip(searches, parts, strict=True)}


def table(folder: Path, total: float) -> None:
    from pairproof.harness.exploration.profiles import PROFILES

    rows = _read(folder / "kills.jsonl")
    groups: dict[str, list[Times]] = {"seeded": [], "generic": []}
    trials: dict[str, list[int]] = {name: [] for name in SEARCHES}
    for row in rows:
        found = row["found"]
        if "import" in found:
            continue
        groups["seeded" if row["law"] else "generic"].append({n: at and at[1] for n, at in found.items()})
        for name, at in found.items():
            trials[name] += [at[0]] if at else []
    seconds = rows[0]["seconds"]
    print(f"{seconds} CPU seconds for each search and mutant, seed {rows[0]['seed']}\n")
    print("| search | mutants | killed | alone | kills per CPU second | median trials | median CPU seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in SEARCHES:
        for group, times in groups.items():
            hits = [at for row in times if (at := row.get(name)) is not None]
            alone = sum(
                row.get(name) is not None and all(row.get(other) is None for other in SEARCHES if other != name)
                for row in times
            )
            spent = sum(hits) + seconds * (len(times) - len(hits))
            middle = f"{median(trials[name]):.0f} | {median(hits):.2f}" if hits else "- | -"
            rate = f"{len(hits)} of {len(times)} | {alone} | {len(hits) / (spent or 1):.2f}"
            print(f"| {name} | {group} | {rate} | {middle} |")
    totals = (total / 2, total, 2 * total)
    print(f"\n| shares | {' | '.join(f'{each:g} CPU seconds' for each in totals)} |\n|---|---|---|---|")
    searches = tuple(PROFILES["quick"].shares)
    shares = {name: dict(PROFILES[name].shares) for name in ("quick", "deep")}
    shares["best"] = best(list(groups.values()), total, searches)
    for name, each in shares.items():
        cells = [
            " + ".join(str(kills(times, each, part)) for times in groups.values())
            for part in (total / 2, total, 2 * total)
        ]
        print(f"| {name}: {', '.join(f'{n} {s:.2f}' for n, s in each.items())} |", " | ".join(cells), "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="do", required=True)
    commands.add_parser("child")
    playing, showing = commands.add_parser("play"), commands.add_parser("table")
    for each in (playing, showing):
        each.add_argument("folder", type=Path)
    playing.add_argument("--seeded", type=int, default=100)
    playing.add_argument("--generic", type=int, default=200)
    playing.add_argument("--seconds", type=float, default=3.0)
    playing.add_argument("--seed", default="by-search")
    showing.add_argument("--total", type=float, default=10.0)
    given = vars(parser.parse_args())
    {"child": child, "play": play, "table": table}[given.pop("do")](**given)


if __name__ == "__main__":
    main()
