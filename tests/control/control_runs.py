"""Seeded trials of the unmutated reference in the simulation, by the hundred thousand: every alarm is a false one.

    python tests/control/control_runs.py --plain 300000 --cluster 20000 --restart-churn 90 --seed S --out F [--part 1/4]

Plain trials come from the swarm, cluster trials from the search of that name, restart churn from ``restart_churn``.
Parts share a folder and may run side by side: part i of k plays the trials whose number is i - 1 modulo k. A part that
is called again goes on where its count file says it stopped, so hours may be split as one likes; what a count file
promises, its seed, target and part, must be the same then.

In FOLDER: ``counts-i-of-k.json`` (numbers done, verdicts, what laws had doubts about), and for each trial with an alarm
``alarm-NAME-NUMBER-LAW.json``, which ``pairproof replay`` executes. A trial that raised is kept the same way, under the
law ``raised``, with its traceback. Exit status 1 if there is any alarm.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, NamedTuple

import restart_churn

from pairproof.harness.errors import UsageError
from pairproof.harness.exploration.slices import rare_collection
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.runs import atomic
from pairproof.harness.runs.writer import finding_json
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.trial import Finding, Trial

MAKE: dict[str, Callable[..., Schedule]] = {
    "plain": swarm.schedule, "cluster": cluster.schedule, "restart-churn": restart_churn.schedule,
}  # fmt: skip
SAVE_S = 20.0
"""How often the counts are written: what a kill costs."""
LAB = resolve.lab("sim")


class Part(NamedTuple):
    """Every ``of``-th trial, from ``first``."""

    first: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """``i/k``, i from 1 to k."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise argparse.ArgumentTypeError(f"{text!r} is not i/k with i from 1 to k, such as 1/4")
        return cls(int(number) - 1, int(of))

    def numbers(self, total: int, done: int) -> range:
        """The part's trials below ``total``, without the first ``done``."""
        return range(self.first + done * self.of, total, self.of)


class Counts:
    """What one part has done so far, in a file of its own."""

    def __init__(self, folder: Path, seed: str, target: str, part: Part) -> None:
        self.path = folder / f"counts-{part.first + 1}-of-{part.of}.json"
        self.about = {"seed": seed, "target": target, "part": f"{part.first + 1}/{part.of}"}
        self.done = dict.fromkeys(MAKE, 0)
        self.alarms: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()
        self.seconds = 0.0
        self._saved = monotonic()
        if self.path.exists():
            self._load(json.loads(self.path.read_text(encoding="utf-8")))

    def _load(self, found: dict[str, Any]) -> None:
        if {key: found[key] for key in self.about} != self.about:
            raise UsageError(f"{self.path} belongs to other trials ({found['seed']}, {found['target']}); another --out")
        self.done |= found["done"]
        for own, name in ((self.alarms, "alarms"), (self.unknown, "unknown"), (self.judged, "judged")):
            own.update(found[name])
        self.seconds = found["seconds"]

    def save(self, *, now: bool = False) -> None:
        """Write them, if it is time or ``now``."""
        elapsed = monotonic() - self._saved
        if now or elapsed >= SAVE_S:
            self._saved += elapsed
            self.seconds += elapsed
            tables = {name: dict(sorted(getattr(self, name).items())) for name in ("alarms", "unknown", "judged")}
            atomic.put_json(
                self.path.parent,
                self.path.name,
                {**self.about, "done": self.done, "seconds": round(self.seconds, 1), **tables},
            )

    def __str__(self) -> str:
        done = ", ".join(f"{amount:,} {kind}" for kind, amount in self.done.items())
        unknown = f"; unknown: {dict(self.unknown)}" if self.unknown else ""
        alarms = f"alarms: {dict(self.alarms) or 'none'}"
        return f"part {self.about['part']}: {done} in {self.seconds:,.0f} s; {alarms}{unknown}"


class Stop:
    """Whether somebody asked to stop: the trial that is going on is finished and counted first."""

    def __init__(self) -> None:
        self.asked = False
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def keep(folder: Path, kind: str, trial: Trial, target: str, law: str, text: str, **more: str) -> None:
    """Write an alarm as a finding."""
    path = folder / f"alarm-{kind}-{trial.number}-{law}.json"
    found = Finding(law, text, target, LAB.name, trial.number, trial.number, trial.schedule, len(trial.schedule.ops))
    atomic.put_json(path.parent, path.name, {**finding_json(found, path), **more})
    print(f"ALARM {path}: {law}: {text}", flush=True)


def play(folder: Path, counts: Counts, kind: str, number: int) -> None:
    """One trial, counted; its alarms are kept."""
    target = counts.about["target"]
    schedule = MAKE[kind](f"{counts.about['seed']}/{kind}", number, LAB)
    try:
        trial = run_trial(LAB, resolve.target(target), schedule, number=number, origin="control")
    except Exception as why:
        counts.alarms["raised"] += 1
        trial = Trial(number, "control", schedule, [], [])
        keep(folder, kind, trial, target, "raised", repr(why), traceback=traceback.format_exc())
        return
    for each in trial.judgements:
        if each.verdict is Verdict.VIOLATED:
            counts.alarms[each.law] += 1
            keep(folder, kind, trial, target, each.law, each.violations[0].text)
        elif each.verdict is Verdict.UNKNOWN:
            counts.unknown[f"{each.law}: {each.doubt}"] += 1
        elif each.verdict is Verdict.HOLDS:
            counts.judged[each.law] += 1


def run(folder: Path, totals: dict[str, int], seed: str, target: str, part: Part) -> Counts:
    """Play what is left of a part."""
    resolve.target(target)
    counts, stop = Counts(folder, seed, target, part), Stop()
    print(f"so far, {counts}", flush=True)
    with rare_collection():
        for kind, total in totals.items():
            for number in part.numbers(total, counts.done[kind]):
                if stop.asked:
                    break
                play(folder, counts, kind, number)
                counts.done[kind] += 1
                counts.save()
    counts.save(now=True)
    return counts


def main() -> int:
    """Parse the command line, run a part, print its counts."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--plain", type=int, default=0, help="How many plain trials all parts play together.")
    options.add_argument("--cluster", type=int, default=0, help="How many cluster trials all parts play together.")
    options.add_argument("--restart-churn", type=int, default=0, help="How many with restarts during calls.")
    options.add_argument("--seed", required=True, help="Decides every trial: take a fresh one for a fresh sample.")
    options.add_argument("--out", type=Path, required=True, help="Folder for counts and alarms.")
    options.add_argument("--part", type=Part.parse, default=Part(0, 1), help="i/k: every k-th trial, from the i-th.")
    options.add_argument("--target", default="reference", help="Another target: reference+MUTANT raises alarms.")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        counts = run(
            given.out,
            {kind: getattr(given, kind.replace("-", "_")) for kind in MAKE},
            given.seed,
            given.target,
            given.part,
        )
    except UsageError as why:
        options.error(str(why))
    print(counts)
    return int(bool(counts.alarms))


if __name__ == "__main__":
    sys.exit(main())
