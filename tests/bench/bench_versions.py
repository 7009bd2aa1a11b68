"""An older version beside this one: CPU milliseconds of a trial and events a second of the judge, in turns, and ratios.

    .venv/bin/python tests/bench/bench_versions.py OLD_PYTHON [--trials 60] [--rounds 3] [--seed bench]

OLD_PYTHON: the ``.venv/bin/python`` of a checkout of the older version. Both are judged by the laws that both have.
First both play schedules of every search that the older one draws, so what is newly drawn costs nobody anything; what
is newly asked and recorded does. Then each plays its own, which is what a search pays. Histories are judged again where
they were played, each by its own judge. Of several rounds the least counts, since a busy neighbour only adds. Nothing
is asserted. Without OLD_PYTHON this version is measured alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SEARCHES = ("sweep", "swarm", "cluster")

# Both versions execute these, so they keep to what has been there for long.
COMMON = """
import json, sys
from time import process_time
from pairproof.harness.judging import judge
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
try:
    from pairproof.harness.trials.schedule_json import from_json
except ImportError:
    from pairproof.harness.trials.schedule import from_json
lab, target = resolve.lab("sim"), resolve.target("reference")
"""
LAWS = COMMON + "print(json.dumps([law.id for law in judge.all_laws()]))"
DRAW = (
    COMMON
    + """
from pairproof.harness.search import sweep
try:
    from pairproof.harness.rocketmq import cluster, swarm
except ImportError:
    from pairproof.harness.search import cluster, swarm
seed, count = sys.argv[1], int(sys.argv[2])
found = {"sweep": sweep.schedules(lab, target, seed)[:count]}
for name, search in (("swarm", swarm), ("cluster", cluster)):
    # What comes first is listed: stories.
    found[name] = [search.schedule(seed, number, lab) for number in range(100, 100 + count)]
print(json.dumps({name: [each.to_json() for each in listed] for name, listed in found.items()}))
"""
)
PLAY = (
    COMMON
    + """
asked = json.load(open(sys.argv[1]))
laws = judge.laws(asked["laws"])
observes = lab.observes(target)
told = {}
for name, listed in asked["schedules"].items():
    schedules = [from_json(each) for each in listed]
    run_trial(lab, target, schedules[0], laws=laws)
    began, histories = process_time(), []
    for each in schedules:
        histories.append(run_trial(lab, target, each, laws=laws).events)
    played = process_time() - began
    began = process_time()
    for each in histories:
        one = judge.Judge(laws, observes)
        one.feed_all(each)
        one.finish()
    told[name] = {"ms": played * 1_000 / len(schedules), "events": sum(map(len, histories)),
                  "judge_s": process_time() - began}
print(json.dumps(told))
"""
)


def ran(python: str, code: str, *arguments: str) -> Any:
    """What a version answers."""
    # From a folder without a package of that name, so that each imports what it has installed.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([python, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{python} failed: {done.stderr.strip().splitlines()[-1:]}; is it a checkout's .venv/bin/python?")
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("old", nargs="?", metavar="OLD_PYTHON")
    parser.add_argument("--trials", type=int, default=60, help="of each search")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", default="bench")
    asked = parser.parse_args()
    pythons = {"new": sys.executable, **({"old": asked.old} if asked.old else {})}
    own = {version: set(ran(python, LAWS)) for version, python in pythons.items()}
    laws = sorted(set.intersection(*own.values()))
    drawn = {each: ran(python, DRAW, asked.seed, str(asked.trials)) for each, python in pythons.items()}
    same = dict.fromkeys(pythons, drawn["old" if asked.old else "new"])
    print(f"{len(laws)} laws, {asked.trials} trials of each search, the least of {asked.rounds} rounds")
    for what, schedules in (("the same schedules", same), ("each its own", drawn)):
        if what != "each its own" or len(pythons) > 1:
            say(what, played(pythons, laws, schedules, asked.rounds))


def played(pythons: dict[str, str], laws: list[str], schedules: dict[str, Any], rounds: int) -> dict[str, list[Any]]:
    """What each version came to, in each round; they take turns."""
    found: dict[str, list[Any]] = {version: [] for version in pythons}
    with tempfile.TemporaryDirectory() as folder:
        for version in pythons:
            Path(folder, version).write_text(json.dumps({"laws": laws, "schedules": schedules[version]}))
        for _ in range(rounds):
            for version, python in pythons.items():
                found[version].append(ran(python, PLAY, str(Path(folder, version))))
    return found


def say(what: str, rounds: dict[str, list[Any]]) -> None:
    for name in SEARCHES:
        least = {version: min(each[name]["ms"] for each in told) for version, told in rounds.items()}
        print(row(f"{what}: {name}, CPU ms of a trial", least, "old", "new"))
    speeds = {
        version: max(
            sum(each[name]["events"] for name in SEARCHES) / sum(each[name]["judge_s"] for name in SEARCHES)
            for each in told
        )
        for version, told in rounds.items()
    }
    print(row(f"{what}: judge, events a CPU second", speeds, "new", "old"))


def row(what: str, values: dict[str, float], over: str, under: str) -> str:
    """One line: each version's value, and how many times better this one is."""
    told = "  ".join(f"{version} {value:10,.1f}" for version, value in sorted(values.items()))
    return f"{what:<52} {told}" + (f"  {values[over] / values[under]:5.2f} x" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
