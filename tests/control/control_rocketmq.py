"""The control of real RocketMQ: hundreds of generated trials of each version show known deviations and nothing else.

    python tests/control/control_rocketmq.py OUT [--targets T,...] [--lab L] [--trials N] [--jobs J] [--seed S]
                                                 [--known-bugs generic|all|none]

Each target is searched in parts of at most 40 trials: all searches of the profile `real`, each part with a seed of its
own. It can be ended and begun again: parts that are complete in OUT are only counted. Defaults: 4.9.7 and 5.5.0, the
process lab, 200 trials, 4 jobs, generic programs of known bugs. Needs toxiproxy and the jars; the docker lab an engine.

``--targets releases``, the atlas: each release that can be installed, with its row in docs/atlas.md. ``pairproof report
OUT/*/runs-*`` compares them.

Printed are, for each target, trials, hours, verdicts, and when each known deviation showed first; of what is new and of
what was left open each trial. Exits with 1 if anything new was violated.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import atlas
from control_punctual import counted, once

from pairproof.chaos.rocketmq.install import RELEASES, source
from pairproof.harness.runs.reader import RunReader

ALL = "releases"
PART = 40
UNSHRUNK = [sys.executable, "-c", "import sys; from pairproof.harness.exploration import watch; "
            "watch.SHRINK_S = watch.SHRINK_TRIALS = 0; from pairproof.harness.commands.main import main; "
            "sys.exit(main())"]  # fmt: skip
"""`pairproof` without shrinking, which takes an hour for three new violations."""
MOST_S = 14_400
"""A part that takes longer is hanging."""


def main() -> int:
    """Play the parts that are missing, then count all."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--targets", default="rocketmq-4.9.7,rocketmq-5.5.0")
    parser.add_argument("--lab", default="process")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seed", default="control")
    parser.add_argument("--known-bugs", default="generic")
    wanted = parser.parse_args()
    if wanted.targets != ALL:
        return max(control(target, wanted) for target in wanted.targets.split(","))
    codes = []
    for release in RELEASES:
        source(release).install()
        codes.append(control(f"rocketmq@{release}", wanted))
        atlas.write(wanted.out)
    return max(codes)


def control(target: str, wanted: argparse.Namespace) -> int:
    """All parts of one target; the exit code."""
    folder = wanted.out / f"{wanted.lab}-{target.replace('/', '_')}-{wanted.known_bugs}"
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, Any]] = []
    while sum(each["trials"] for each in parts) < wanted.trials:
        kept = folder / f"part-{len(parts)}.json"
        left = wanted.trials - sum(each["trials"] for each in parts)
        play = partial(part, folder, target, wanted, len(parts), min(PART, left))
        parts.append(once(kept, play, "trials", "seconds", "exit"))
        if not parts[-1]["trials"]:
            sys.exit(f"{kept}: no trial was played; see {kept.with_suffix('.log')}")
    return told(target, wanted, parts)


def part(folder: Path, target: str, wanted: argparse.Namespace, number: int, trials: int) -> dict[str, Any]:
    """Search for a while; what came of it, and where the run is."""
    runs = folder / f"runs-{number}"
    command = [*UNSHRUNK, "check", "--target", target, "--lab", wanted.lab]
    command += ["--jobs", str(wanted.jobs), "--trials", str(trials)]
    command += ["--seed", f"{wanted.seed}-{number}", "--runs", str(runs.resolve())]
    (folder / "pairproof.toml").write_text(f'[check]\nkeep = "all"\nknown-bugs = "{wanted.known_bugs}"\n')
    began = time.monotonic()
    with (folder / f"part-{number}.log").open("wb") as log:
        code = subprocess.run(command, cwd=folder, stdout=log, stderr=log, timeout=MOST_S, check=False).returncode
    run = max((each for each in runs.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
    known = RunReader(run).facts.get("deviations", [])
    return {"seconds": round(time.monotonic() - began), "exit": code, "run": str(run), "known": known, **counted(run)}


def told(target: str, wanted: argparse.Namespace, parts: list[dict[str, Any]]) -> int:
    """Print the counts of all parts; the exit code."""
    seconds, trials, failed = (sum(each[name] for each in parts) for name in ("seconds", "trials", "failed"))
    count = {name: Counter[str]() for name in ("judged", "violated", "unknown")}
    for each in parts:
        for name, counts in count.items():
            counts.update(each[name])
    print(f"{target} in {wanted.lab}, known bugs {wanted.known_bugs}: {trials} trials in {len(parts)} parts, "
          f"{seconds / 3600:.2f} h, {trials * 3600 / max(seconds, 1):.0f} an hour, {failed} failures of the lab; "
          f"{sum(1 for each in count['judged'].values() if each)} laws judged {count['judged'].total()} times, "
          f"violated {count['violated'].total()}, unknown {count['unknown'].total()}")  # fmt: skip
    before = 0
    met: dict[str, Any] = {}
    for each in parts:
        for row in each["known"]:
            first = before + row["first"]
            old = met.setdefault(row["id"], [first, 0, Counter()])
            old[1] += row["trials"]
            old[2].update(row["searches"])
        before += each["trials"]
    for name, (first, times, searches) in sorted(met.items()):
        by = ", ".join(f"{search} {amount}" for search, amount in searches.most_common())
        print(f"  known: {name}: first in trial {first}, in {times} of {trials}; by search: {by}")
    for each in parts:
        for text in each["texts"]:
            print(f"  {each['run']} {text}")
    return 1 if count["violated"] else 0


if __name__ == "__main__":
    sys.exit(main())
