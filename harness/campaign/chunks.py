"""Play a chunk of a campaign and write its part of every table; shrink the program of a violating trial.

Both are functions of the plan alone: a second play of a chunk writes the same files. The chunk's result
(:class:`ChunkResult`) is written last, as ``chunks/NNNNN.json``, after the parts are synced to the disk, and commits
it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from ..errors import CorruptRun, PairproofError
from ..exploration.counts import Counts, refuse
from ..exploration.finding import Small, findings_of, smallest
from ..exploration.retention import Retention, measured
from ..exploration.slices import MACHINE, SLICE, Slice, play, rare_collection
from ..judging import deviations
from ..judging.cause import violated
from ..judging.verdict import Verdict
from ..runs import atomic, locations, parts
from ..runs.part_size import MAX_FILE_BYTES
from ..runs.parts import About, Pending, Written
from ..runs.reader import folder_name, read
from ..runs.sampling import sampling
from ..runs.wholeness import check_digests, digest, part_name
from ..search import machine
from ..trials import resolve
from ..trials.interpreter import run_trial
from ..trials.schedule_json import from_json
from ..trials.trial import Finding, Trial
from .plan import Chunk, Environment, Plan, environment

VERDICTS = frozenset(each.value for each in Verdict)
FOLDER = "chunks"
MAX_KEPT_EVENTS = 500_000
"""For one chunk; if nearly all trials violate laws, later ones' histories are not kept."""
NOT_NUMBERED = -1
"""The trial of a shrunk program, before all of them are known."""


class ChunkResult(NamedTuple):
    """The result of a chunk. Plain values, since it is a file."""

    plan: str
    """Digest of the plan and its code: :attr:`pairproof.harness.campaign.plan.Plan.digest`."""
    part: int
    origin: str
    trials: int
    events: int
    tables: dict[str, tuple[int, str]]
    """By table, the rows of its part and its digest."""
    verdicts: dict[str, dict[str, int]]
    exercised: dict[str, int]
    """By law, trials in which it had something to judge."""
    faults: dict[str, int]
    """By name of each fault that began, how often it took effect."""
    violating: int
    first: dict[str, dict[str, int]]
    """By law and by first violation of a trial, the first trial that violates the law so."""
    not_kept: int
    """Wanted histories beyond the limit."""
    deviations: list[list[Any]]
    """For known deviations: id, trials by law, trials, and the first one."""
    replicated: tuple[int, int]
    """Trials with a slave in which none held a record of the workload, and in which one did."""
    refused: dict[str, int]

    @property
    def written(self) -> dict[str, Written]:
        return {table: Written(*each) for table, each in self.tables.items()}

    @property
    def digests(self) -> dict[str, str]:
        """For its parts, by their names in the run's folder."""
        return {f"{table}/{part_name(self.part)}": each.digest for table, each in self.written.items()}


class Violating(NamedTuple):
    """A violating trial to be shrunk by one law. ``schedule`` is a JSON text, as in the table."""

    trial: int
    law: str
    origin: str
    schedule: str


def play_chunk(plan: Plan, folder: str, about: About, chunk: Chunk) -> ChunkResult:
    """Play a chunk and write its part in ``folder``. PairproofError if it cannot be written, or if this process has
    other code than its leader.
    """
    found = environment(plan)
    if found.code != plan.code:
        raise PairproofError("a worker's code is not the leader's; install one version on all machines, and resume")
    pending, counts = [], Counts((law.id for law in found.laws), (), None)
    verdicts: dict[str, Counter[str]] = {law.id: Counter() for law in found.laws}
    first: dict[str, dict[str, int]] = {}
    seen, kept_events, not_kept = deviations.Seen(), 0, 0
    with rare_collection():
        for trial in _trials(found, plan, chunk):
            if trial.refused:
                refuse(counts.refused, trial.refused)
                continue
            assert trial.measured is not None
            counts.count(trial)
            wanted = len(trial.events) == trial.measured.events
            kept = wanted and kept_events + len(trial.events) <= MAX_KEPT_EVENTS
            kept_events += len(trial.events) if kept else 0
            not_kept += wanted and not kept
            pending.append(Pending.of(trial, trial.measured, kept))
            seen.add(trial.judgements, trial.origin, trial.number)
            for each in trial.judgements:
                verdicts[each.law][each.verdict] += 1
            if why := pending[-1].cause:
                for each in violated(trial):
                    first.setdefault(each.law, {}).setdefault(why, trial.number)
    target_folder = locations.place(folder)
    written = parts.write(target_folder, about, chunk.part, pending, counts.coverage.rows())
    tables = {table: (each.rows, each.digest) for table, each in written.items()}
    result = ChunkResult(
        plan.digest, chunk.part, chunk.origin, len(pending), counts.events, tables,
        {law: dict(each) for law, each in verdicts.items()}, dict(counts.exercised), dict(counts.faults),
        sum(bool(each.cause) for each in pending), first, not_kept, seen.counted(),
        (counts.replicated[False], counts.replicated[True]), dict(counts.refused),
    )  # fmt: skip
    atomic.sync(target_folder / name for name in result.digests)
    text = json.dumps(result._asdict())
    whole = f'{{"digest": "{digest(text.encode())}", "told":\n{text}\n}}'.encode()
    atomic.put(target_folder, file_name(chunk.part), lambda hidden: hidden.write_bytes(whole), keep=True)
    return result


def file_name(part: int) -> str:
    """A chunk's file, in the run's folder."""
    return f"{FOLDER}/{part:05d}.json"


def read_result(folder: Path, plan: Plan, chunk: Chunk) -> ChunkResult:
    """A chunk's result; CorruptRun if its file, or one of its parts, does not match this plan's chunk."""
    path = folder / file_name(chunk.part)
    try:
        data = locations.read_bytes(path, MAX_FILE_BYTES)
        # The digest is that of the second line.
        _, text, _ = data.split(b"\n")
        if json.loads(data)["digest"] != digest(text):
            raise ValueError("it was changed")
        result = ChunkResult(**json.loads(text))
        if not all(_fits(getattr(result, name), kind) for name, kind in get_type_hints(ChunkResult).items()):
            raise ValueError("it has invalid values")
        deviations.Seen().merge(result.deviations)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as why:
        raise CorruptRun(f"{path} cannot be read ({' '.join(str(why).split())[:120]})") from None
    if result.plan != plan.digest or (result.part, result.origin, result.trials + sum(result.refused.values())) != (
        chunk.part, chunk.origin, chunk.trials
    ):  # fmt: skip
        raise CorruptRun(f"{path} is not of this campaign")
    check_digests(folder, result.digests)
    if not _agrees(folder, result, plan.laws):
        raise CorruptRun(f"{path} has other verdicts than its table")
    return result


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value of a result has this type, which may be dicts, lists and tuples of types."""
    of, parts_of = get_origin(kind), get_args(kind)
    if of is dict:
        return isinstance(value, dict) and all(_fits(each, parts_of[1]) for each in value.values())
    if of is list:
        return isinstance(value, list) and all(_fits(each, parts_of[0]) for each in value)
    if of is tuple:
        return isinstance(value, list) and len(value) == len(parts_of) and all(map(_fits, value, parts_of))
    return kind is Any or (isinstance(value, kind) and not isinstance(value, bool))


def _agrees(folder: Path, result: ChunkResult, laws: Collection[str]) -> bool:
    counts: dict[str, Counter[str]] = {law: Counter() for law in laws}
    violated: set[tuple[str, int]] = set()
    if "verdicts" in result.tables:
        rows = read(folder / "verdicts" / part_name(result.part), folder_name(folder))
        columns = (rows[name].to_pylist() for name in ("law", "verdict", "trial", "trials"))
        for law, verdict, trial, trials in zip(*columns, strict=True):
            if law not in counts or verdict not in VERDICTS:
                return False
            counts[law][verdict] += trials
            if verdict == Verdict.VIOLATED:
                violated.add((law, trial))
    first = {(law, trial) for law, of in result.first.items() for trial in of.values()}
    return counts == result.verdicts and first <= violated and {law for law, _ in first} == {law for law, _ in violated}


def play_small(plan: Plan, task: Violating) -> tuple[Violating, Trial, list[Finding]]:
    """The task, a trial of the smallest program that violates the law, without a number yet, and its findings.

    Bounded by :data:`pairproof.harness.search.shrink.MAX_RUNS` executions.
    """
    lab, target, laws, *_ = environment(plan)
    schedule = from_json(json.loads(task.schedule))
    trial = run_trial(lab, target, schedule, number=task.trial, origin=task.origin, laws=laws)
    made = smallest(lab, target, schedule, task.law)
    small = Small(made, lab.name, run_trial(lab, target, made, number=NOT_NUMBERED, origin="shrink", laws=laws))
    shown, found = findings_of(lab, target, trial, task.law, small)
    return task, shown._replace(measured=measured(resolve.system_of(target), shown.events)), found


def _trials(found: Environment, plan: Plan, chunk: Chunk) -> Iterator[Trial]:
    retention = Retention(sampling(plan.keep, plan.seed))
    size = machine.BATCH if chunk.origin == MACHINE else SLICE
    for first in range(chunk.first, chunk.first + chunk.trials, size):
        count = min(size, chunk.first + chunk.trials - first)
        listed = found.listed.get(chunk.origin)
        drawn = () if listed is None else tuple((each, "") for each in listed[first : first + count])
        part = Slice(chunk.origin, plan.seed, first, count, found.laws, retention, drawn)
        for number, trial in enumerate(play(found.lab, found.target, part), chunk.number + first - chunk.first):
            yield trial._replace(number=number)
