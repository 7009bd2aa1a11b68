"""Plays a chunk of a campaign and writes its part of every table; makes the program of a violating trial small.

Both are functions of the plan alone: whoever plays a chunk a second time writes the same files. What a chunk came to
(:class:`Told`) is written last, as ``chunks/NNNNN.json``, and commits it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pairproof.harness import deviations, resolve
from pairproof.harness.campaign.plan import Bench, Chunk, Plan, bench
from pairproof.harness.cause import violated
from pairproof.harness.counts import refuse
from pairproof.harness.coverage_table import CoverageTable
from pairproof.harness.errors import CorruptRun
from pairproof.harness.finding import Small, findings_of, smallest
from pairproof.harness.interpreter import run_trial
from pairproof.harness.keeps import Keeps, measured
from pairproof.harness.runs import atomic, parts, places
from pairproof.harness.runs.parts import About, Pending
from pairproof.harness.runs.sampling import sampling
from pairproof.harness.schedule_json import from_json
from pairproof.harness.search import machine
from pairproof.harness.slices import MACHINE, SLICE, Slice, play, rare_collection
from pairproof.harness.trial import Finding, Trial

FOLDER = "chunks"
"""Of the run's folder."""
MAX_KEPT_EVENTS = 500_000
"""Of one chunk; where nearly all trials violate something, the later ones' histories are not kept."""
NOT_NUMBERED = -1
"""The trial of a small program, until all of them are known."""


class Told(NamedTuple):
    """What a chunk came to. Plain values, since it is a file."""

    part: int
    origin: str
    trials: int
    events: int
    rows: dict[str, int]
    """By table."""
    verdicts: dict[str, dict[str, int]]
    """By law and verdict, trials."""
    exercised: dict[str, int]
    """By law, trials that gave it something to judge."""
    faults: dict[str, int]
    """By name of each fault that began, how often it took effect."""
    violating: int
    first: dict[str, dict[str, int]]
    """By law and by what a trial broke first, the first trial that violates the law so."""
    not_kept: int
    """Histories that were to be kept, and were too much."""
    deviations: list[list[Any]]
    """Of known deviations: id, trials by law, trials, and the first one."""
    replicated: tuple[int, int] = (0, 0)
    """Trials with a slave in which none held a record of the workload, and in which one did."""
    refused: dict[str, int] = {}
    """Drawn schedules that were not played, by the reason."""


class Violating(NamedTuple):
    """A violating trial that is to be made small by one law. ``schedule`` is a JSON text, as the table holds it."""

    trial: int
    law: str
    origin: str
    schedule: str


def play_chunk(plan: Plan, folder: str, about: About, chunk: Chunk) -> Told:
    """Play a chunk and write its part in ``folder``. PairproofError if it cannot be written."""
    found = bench(plan)
    pending, coverage = [], CoverageTable()
    verdicts: dict[str, Counter[str]] = {law.id: Counter() for law in found.laws}
    exercised, faults, refused = Counter[str](), Counter[str](), Counter[str]()
    replicated: Counter[bool | None] = Counter()
    first: dict[str, dict[str, int]] = {}
    seen, events, kept_events, not_kept = deviations.Seen(), 0, 0, 0
    with rare_collection():
        for trial in _trials(found, plan, chunk):
            if trial.refused:
                refuse(refused, trial.refused)
                continue
            assert trial.measured is not None
            replicated[trial.measured.replicated] += 1
            wanted = len(trial.events) == trial.measured.events
            kept = wanted and kept_events + len(trial.events) <= MAX_KEPT_EVENTS
            kept_events += len(trial.events) if kept else 0
            not_kept += wanted and not kept
            pending.append(Pending.of(trial, trial.measured, kept))
            coverage.merge(trial.measured.coverage)
            events += trial.measured.events
            seen.add(trial.judgements, trial.origin, trial.number)
            for fault in trial.faults:
                faults[fault.name] += fault.bit > 0
            for each in trial.judgements:
                verdicts[each.law][each.verdict] += 1
                exercised[each.law] += each.judged > 0
            if why := pending[-1].cause:
                for each in violated(trial):
                    first.setdefault(each.law, {}).setdefault(why, trial.number)
    place = places.place(folder)
    rows = parts.write(place, about, chunk.part, pending, coverage.rows())
    told = Told(
        chunk.part, chunk.origin, len(pending), events, rows, {law: dict(each) for law, each in verdicts.items()},
        dict(exercised), dict(faults), sum(bool(each.cause) for each in pending), first, not_kept, seen.counted(),
        (replicated[False], replicated[True]), dict(refused),
    )  # fmt: skip
    atomic.write_text(told_path(place, chunk.part), json.dumps(told._asdict()))
    return told


def told_path(folder: Path, part: int) -> Path:
    """Where a chunk's is."""
    return folder / FOLDER / f"{part:05d}.json"


def read_told(path: Path) -> Told:
    """What a chunk came to; CorruptRun if that is not what the file holds."""
    try:
        return Told(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError) as why:
        raise CorruptRun(
            f"{path} cannot be read ({' '.join(str(why).split())[:120]}); delete it: its chunk is played again"
        ) from None


def play_small(plan: Plan, task: Violating) -> tuple[Violating, Trial, list[Finding]]:
    """The task, a trial of the smallest program that violates the law, without a number yet, and its findings.

    Bounded by :data:`pairproof.harness.search.shrink.MAX_RUNS` executions.
    """
    lab, target, laws, _ = bench(plan)
    schedule = from_json(json.loads(task.schedule))
    trial = run_trial(lab, target, schedule, number=task.trial, origin=task.origin, laws=laws)
    made = smallest(lab, target, schedule, task.law)
    small = Small(made, lab.name, run_trial(lab, target, made, number=NOT_NUMBERED, origin="shrink", laws=laws))
    shown, found = findings_of(lab, target, trial, task.law, small)
    return task, shown._replace(measured=measured(resolve.system_of(target), shown.events)), found


def _trials(found: Bench, plan: Plan, chunk: Chunk) -> Iterator[Trial]:
    keeps = Keeps(sampling(plan.keep, plan.seed))
    size = machine.BATCH if chunk.origin == MACHINE else SLICE
    for first in range(chunk.first, chunk.first + chunk.trials, size):
        count = min(size, chunk.first + chunk.trials - first)
        listed = found.listed.get(chunk.origin)
        drawn = () if listed is None else tuple((each, "") for each in listed[first : first + count])
        part = Slice(chunk.origin, plan.seed, first, count, found.laws, keeps, drawn)
        for number, trial in enumerate(play(found.lab, found.target, part), chunk.number + first - chunk.first):
            yield trial._replace(number=number)
