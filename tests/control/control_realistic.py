"""Bugs that users of RocketMQ met, written into the reference: which of them the searches of a profile find.

    python tests/control/control_realistic.py [--trials N] [--seed S] [--profile P] [--anew] [BUG ...]

Each patch of ``tests/realistic`` is applied to a copy of the project in a temporary folder, and a process plays there
what ``pairproof check`` plays, until a law is violated or the trials are spent; nothing is shrunk. Searches are bounded
by trials, so the same seed gives the same table on any machine. A node that crashes is no verdict yet: a few more
trials show whether a law objects, too.

Prints the table. Exit status 1 if a bug that ``tests/realistic/found.json`` says is found was not, or the other way
round; ``--anew`` writes that file instead. Nobody tunes a law for one of these bugs: then they would measure nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.profiles import PROFILES, QUICK, profile
from pairproof.harness.judging.cause import violated
from pairproof.harness.trials import resolve
from pairproof.harness.trials.trial import Finding, Trial

ROOT = Path(__file__).resolve().parents[2]
BUGS = ROOT / "tests" / "realistic"
FOUND = BUGS / "found.json"
COPIED = ("pairproof", "reference", "harness", "chaos", "reports")
TRIALS = 600
"""About what the quick profile plays; some twenty CPU seconds for a bug that survives."""
SEED = "twenty"
CRASH_LAW = "node-lives"
AFTER_CRASH = 5
"""Further trials in which nodes crash, before that is all there is to say."""


class Hunt(Explorer):
    """An exploration that ends at the first violation and shrinks nothing."""

    crashes = 0

    def _shrink_all(self, trial: Trial) -> None:
        broken = violated(trial)
        laws = [each for each in broken if each.law != CRASH_LAW]
        self.crashes += not laws
        if not laws and self.crashes <= AFTER_CRASH:
            return
        first = (laws or broken)[0]
        text = first.violations[0].text
        number, ops = trial.number, len(trial.schedule.ops)
        self.findings.append(
            Finding(first.law, text, self.target.name, self.lab.name, number, number, trial.schedule, ops,
                    search=trial.origin)
        )  # fmt: skip
        self._allowance.end()


class Row(NamedTuple):
    """What became of one bug. ``law``: empty if it survived."""

    bug: str
    law: str
    search: str
    trials: int
    cpu_s: float
    text: str


def play(seed: str, trials: int, name: str, target: str = "reference") -> dict[str, object]:
    """What the searches find in the tree that this process runs from."""
    hunt = Hunt(resolve.lab("sim"), resolve.target(target), profile(name), seed, trials=trials or None, first=True)
    summary = hunt.run()
    spent = {"trials": summary.trials, "cpu_s": round(process_time(), 1)}
    if not hunt.findings:
        return {"law": "", "search": "", "text": "", **spent}
    found = hunt.findings[0]
    return {"law": found.law, "search": found.search, "text": found.text, **spent}


def changed(patch: Path, folder: Path) -> None:
    """Make a copy of the project with the patch applied. CalledProcessError if it does not apply."""
    for each in COPIED:
        # With what Python has compiled: to compile it all again takes longer than to find most bugs.
        shutil.copytree(ROOT / each, folder / each, symlinks=True)
    apply(patch, folder)


def apply(patch: Path, folder: Path, *more: str) -> None:
    """``git apply`` in a folder, whether or not that lies in some repository."""
    around = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)}
    subprocess.run(["git", "apply", *more, str(patch)], cwd=folder, env=around, check=True, capture_output=True)


def judged(patch: Path, asked: argparse.Namespace) -> Row:
    """Apply one patch to a copy and play there."""
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        changed(patch, folder)
        command = [sys.executable, __file__, "--play", "--seed", asked.seed, "--trials", str(asked.trials)]
        said = subprocess.run(
            [*command, "--profile", asked.profile], env={**os.environ, "PYTHONPATH": str(folder)}, cwd=folder,
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        answer = json.loads(said.splitlines()[-1])
        assert Path(answer.pop("from")).is_relative_to(folder), "the copy was not what was played"
        return Row(patch.stem, **answer)


def told(row: Row) -> str:
    """One line of the table."""
    verdict = "survived" if not row.law else "crash only" if row.law == CRASH_LAW else "found"
    return f"{row.bug:36} {verdict:10} {row.law:28} {row.search:8} {row.trials:6} {row.cpu_s:6.1f} s"


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="file names of patches, or how they begin")
    bound = "of the searches, the corpus not counted; 0: as many as the profile says"
    parser.add_argument("--trials", type=int, default=TRIALS, help=bound)
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--profile", default=QUICK, choices=sorted(PROFILES))
    parser.add_argument("--anew", action="store_true", help="write found.json")
    parser.add_argument("--play", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(given)
    if asked.play:
        print(json.dumps({"from": resolve.__file__, **play(asked.seed, asked.trials, asked.profile)}))
        return 0
    rows = []
    for patch in sorted(BUGS.glob("*.patch")):
        if not asked.bugs or patch.stem.startswith(tuple(asked.bugs)):
            rows.append(judged(patch, asked))
            print(told(rows[-1]), flush=True)
    print(f"{sum(bool(each.law) for each in rows)} of {len(rows)} found")
    found = {each.bug: each.law for each in rows}
    if asked.anew:
        FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    expected = json.loads(FOUND.read_text(encoding="utf-8"))
    return int(any(bool(law) != bool(expected[bug]) for bug, law in found.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
