"""Lead a campaign: pass the remaining chunks to an engine, shrink violations, and close the run.

All state is in the run's folder, so any process can resume a campaign whose leader or workers were killed. Violations
are shrunk after all chunks, so the findings do not depend on the distribution of the chunks.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol

from ..errors import CorruptRun, UsageError, interrupted
from ..exploration.coverage_table import CoverageTable
from ..exploration.explore import MAX_FINDINGS_PER_LAW
from ..exploration.summary import Summary
from ..judging.verdict import CORPUS, Verdict
from ..runs import atomic, locations, schema, tables
from ..runs.part_size import Budget
from ..runs.parts import About
from ..runs.reader import RunReader, read_facts
from ..runs.wholeness import part_name
from ..runs.writer import RunWriter
from ..texts import invocation
from ..trials.trial import Finding, Trial
from . import chunks as playing
from .chunks import ChunkResult, Violating
from .plan import Chunk, Plan, chunks, environment

OURS = (".parquet", ".json", ".tmp")
"""Endings of the files that a campaign writes into its folders."""


class Engine(Protocol):
    def play(self, do: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """The results of ``do`` for the tasks, in order of completion. PairproofError if it fails permanently."""


class Progress(NamedTuple):
    trials: int
    of: int
    violating: int
    seconds: float
    played: int
    """Trials that were played since the start or resumption, in ``seconds``."""

    def __str__(self) -> str:
        rate = self.played / self.seconds if self.seconds else 0.0
        left = (self.of - self.trials) / rate if rate else 0.0
        return f"{rate:,.0f} trials a second, {self.violating:,} violating, {_duration(left)} left"


class Campaign:
    """One campaign in its run's folder, which this process leads until :meth:`close`. ``said`` receives the progress
    after each chunk.
    """

    def __init__(self, writer: RunWriter, plan: Plan, before_s: float = 0.0, lock: int | None = None) -> None:
        self.writer = writer
        self.plan = plan
        self.findings: list[tuple[Finding, Path]] = []
        self.said: Callable[[Progress], None] = lambda _: None
        self.damaged: Callable[[str], None] = lambda _: None
        """Receives a line for each damaged part of committed chunks."""
        self._about = About(str(writer.facts["run"]), plan.target, plan.lab, str(writer.facts.get("commit", "")))
        self._done: dict[int, ChunkResult] = {}
        self._chunks: list[Chunk] = []
        self._coverage = CoverageTable()
        self._small = 0
        self._adopted = False
        self._events = 0
        self._before_s = before_s
        """The duration of earlier leaders, as far as recorded."""
        self._lock = alone(writer.folder) if lock is None else lock
        self._began = monotonic()

    @classmethod
    def resumed(cls, folder: Path) -> Campaign:
        """A campaign to resume: incomplete, or complete and damaged. UsageError if the folder holds none, a complete
        one, one of other code, or one that another process leads; CorruptRun if its plan was changed.
        """
        facts = read_facts(folder)
        plan = Plan.of_facts(facts)
        if plan is None:
            raise UsageError(f"{folder} is not a campaign's run; begin one with pairproof campaign")
        if facts["campaign"].get("plan") != plan.digest:
            raise CorruptRun(
                f"{folder / 'run.json'} was changed: its target, seed, profile, laws, trials or sample are not those "
                "that the campaign was begun with; put them back, or begin another one"
            )
        if environment(plan).code != plan.code:
            raise UsageError(f"{folder} was begun by another state of the code; go on with that one, or begin another")
        if facts["state"] == "complete" and _is_whole(folder):
            raise UsageError(f"{folder} is complete; make its report with {invocation.line('report', folder)}")
        lock = alone(folder)
        before_s = _seconds(facts.get("seconds") or facts["campaign"].get("seconds"))
        facts["campaign"] = {**facts["campaign"], "seconds": before_s}
        return cls(RunWriter(folder, facts, again=True), plan, before_s, lock)

    def lead(self, engine: Engine) -> None:
        """Play the remaining chunks, then shrink violating trials. Committed results stay in any case."""
        self._began = monotonic()
        self._chunks = chunks(self.plan)
        self._find()
        self._forget()
        before = len(self._done)
        # Workers may have another working directory.
        folder = str(self.writer.folder.absolute())
        left = [each for each in self._chunks if each.part not in self._done]
        self._report(before)
        for result in engine.play(playing.play_chunk, [(self.plan, folder, self._about, each) for each in left]):
            self._done[result.part] = result
            self._report(before)
        self._adopt()
        tasks = list(self._violating())
        answers = {}
        for task, *answer in engine.play(playing.play_small, [(self.plan, each) for each in tasks]):
            answers[task] = answer
        for task in tasks:
            if task in answers:
                self._take(*answers[task])

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.close("interrupted", interrupted(error))
        elif error is not None:
            self.close("failed", f"{type(error).__name__}: {error}")

    def close(self, state: str = "complete", reason: str = "") -> None:
        """Write the last facts, unless that is done."""
        if self.writer.facts["state"] != "running":
            return
        self._adopt()
        if self._small:
            self.writer.coverage(self._coverage.rows())
        found = self.summary()
        self.writer.close(
            state, reason=reason, seconds=round(self._seconds(), 3), searches=found.searches(),
            **found.lacks(),
        )  # fmt: skip
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _seconds(self) -> float:
        return self._before_s + monotonic() - self._began

    def summary(self) -> Summary:
        seen: dict[str, set[tuple[str, Verdict]]] = {law: set() for law in self.plan.laws}
        exercised, by_origin, faults = Counter[str](), Counter[str](), Counter[str]()
        replicated, refused, coverage = Counter[bool](), Counter[str](), CoverageTable()
        for result in self._done.values():
            by_origin[result.origin] += result.trials
            exercised.update(result.exercised)
            faults.update(result.faults)
            replicated.update(dict(zip((False, True), result.replicated, strict=True)))
            refused.update(result.refused)
            for law, verdicts in result.verdicts.items():
                seen[law] |= {(result.origin, Verdict(each)) for each in verdicts}
        if self._small:
            by_origin["shrink"] = self._small
        coverage.merge(self._coverage)
        coverage.merge(self._covered)
        return Summary(
            {law: frozenset(each) for law, each in seen.items()}, by_origin.total(), self._events, dict(by_origin),
            [each for each, _ in self.findings], self._totals(), self._seconds(), coverage,
            bound="the number of trials", exercised=dict(exercised), faults=dict(faults), replicated=replicated,
            refused=dict(refused),
        )  # fmt: skip

    def _report(self, before: int) -> None:
        done = self._done.values()
        trials, of = sum(each.trials for each in done), sum(each.trials for each in self._chunks)
        now = sum(each.trials for number, each in enumerate(done) if number >= before)
        self.said(Progress(trials, of, sum(each.violating for each in done), monotonic() - self._began, now))

    def _find(self) -> None:
        """Find the chunks that workers have committed, and report damaged ones, which are played again."""
        folder = self.writer.folder
        for each in self._chunks:
            if each.part not in self._done and (folder / playing.file_name(each.part)).exists():
                try:
                    self._done[each.part] = playing.read_result(folder, self.plan, each)
                except CorruptRun as why:
                    self.damaged(f"{str(why).partition('; ')[0]}; its chunk is played again")

    def _adopt(self) -> None:
        """Make the writer continue after the chunks, once."""
        if self._adopted:
            return
        self._adopted = True
        if len(self._done) < len(self._chunks):
            self._find()
            self._forget()
        done = self._done.values()
        self._events = sum(each.events for each in done)
        trials, not_kept = (sum(getattr(each, name) for each in done) for name in ("trials", "not_kept"))
        written = {each.part: each.written for each in done}
        self.writer.adopt(written, len(self._chunks), trials, self._events, not_kept)
        for result in self._in_order():
            self.writer.deviations.merge(result.deviations)

    def _forget(self) -> None:
        """Remove the files of no committed chunk: chunks are played again, findings are made again, and until then the
        run is complete without them.
        """
        committed = {f"{table}/{part_name(result.part)}" for result in self._done.values() for table in result.tables}
        committed |= {playing.file_name(part) for part in self._done}
        for name in (*schema.TABLES, "findings", playing.FOLDER):
            for each in atomic.inside(self.writer.folder, name).glob("*"):
                if each.suffix in OURS and f"{name}/{each.name}" not in committed:
                    each.unlink(missing_ok=True)

    def _in_order(self) -> list[ChunkResult]:
        return [self._done[part] for part in sorted(self._done)]

    def _violating(self) -> Iterator[Violating]:
        """The trials to shrink: for each law, the first trial of each of its first causes."""
        chosen: dict[tuple[str, int], None] = {}
        for law in self.plan.laws:
            first: dict[str, int] = {}
            for result in self._in_order():
                for why, trial in result.first.get(law, {}).items():
                    first.setdefault(why, trial)
            for trial in sorted(first.values())[:MAX_FINDINGS_PER_LAW]:
                chosen[law, trial] = None
        rows = self._rows_of({trial for _, trial in chosen})
        for law, trial in chosen:
            yield Violating(trial, law, *rows[trial])

    def _rows_of(self, trials: set[int]) -> dict[int, tuple[str, str]]:
        """Origin and schedule of trials, from their parts."""
        found, budget = {}, Budget()
        for chunk in self._chunks:
            wanted = trials & set(range(chunk.number, chunk.number + chunk.trials))
            if wanted and chunk.part in self._done:
                part = tables.read_part(self.writer.folder / "trials" / part_name(chunk.part), wanted)
                budget.keep(part := part.select(["trial", "origin", "schedule"]))
                for row in part.to_pylist():
                    found[row["trial"]] = (row["origin"], row["schedule"])
        return found

    def _take(self, shown: Trial, found: Iterable[Finding]) -> None:
        """Record a shrunk program's trial and those of its findings that are new."""
        known = [(each.law, each.schedule.ops) for each, _ in self.findings]
        counts = Counter(each.law for each, _ in self.findings)
        new = [
            each
            for each in found
            if (each.law, each.schedule.ops) not in known and counts[each.law] < MAX_FINDINGS_PER_LAW
        ]
        if not new:
            return
        number = shown.number
        if number == playing.NOT_NUMBERED:
            number = sum(each.trials for each in self._chunks) + self._small
            self._small += 1
            assert shown.measured is not None
            self._events += shown.measured.events
            self._coverage.merge(shown.measured.coverage)
            self.writer.trial(shown._replace(number=number))
        for each in new:
            finding = each._replace(shrunk_trial=number)
            self.findings.append((finding, self.writer.finding(finding)))

    @cached_property
    def _covered(self) -> CoverageTable:
        """For all chunks; computed once, when they are known."""
        found = CoverageTable()
        for result in self._in_order():
            if "coverage" in result.tables:
                part = tables.read_part(self.writer.folder / "coverage" / part_name(result.part))
                for _, state, event, fault, count in tables.rows(part):
                    found.counts.setdefault(fault, Counter())[state, event] += count
        return found

    def _totals(self) -> dict[str, int]:
        return {name: len(each) for name, each in environment(self.plan).listed.items() if name != CORPUS}


def alone(folder: Path) -> int | None:
    """A descriptor whose lock keeps other leaders away while it is open; None without support for locks, as at a URL.

    UsageError if another process leads the campaign in this folder.
    """
    if locations.is_remote(folder):
        return None
    try:
        return atomic.lock(folder)
    except BlockingIOError:
        raise UsageError(f"another process leads the campaign in {folder}; wait for its end, or end it") from None


def _is_whole(folder: Path) -> bool:
    try:
        RunReader(folder).check()
    except CorruptRun:
        return False
    return True


def _seconds(recorded: object) -> float:
    return float(recorded) if isinstance(recorded, (int, float)) and 0 <= recorded < math.inf else 0.0


def _duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {int(seconds) % 60} s"
