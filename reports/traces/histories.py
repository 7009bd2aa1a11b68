"""Reads the recorded histories of a run folder part by part, measures each and judges it again.

A part of the table ``history`` holds complete trials, and the parts of ``trials`` and ``verdicts`` with the same number
cover the same trials. So each number is a separate task: nothing is shuffled, one history is in memory at a time, and a
damaged file is a row that names it, not the end of a job. The output is one row per history, with its rows of the
tables of :mod:`~pairproof.reports.traces.measured`.

**Rejudged** is each complete history, by the run's laws and observed event types. The comparison covers verdict,
numbers of judgements and violations, and the first violation's event; texts may change. For an incomplete trial (failed
lab, interruption) verdicts other than unknown are a difference.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...harness.history import Event
from ...harness.runs import reader, tables
from ..inputs import RunInput
from .environment import Bench, verdict_rows
from .measured import Difference, Rows, measure

MAX_REASON = 200

COMPARED = ("verdict", "judged", "broken", "seq")
"""The columns that must be equal when the same version rejudges a history."""

ENDED = "end"


class Numbered(NamedTuple):
    """The files of one part; None for a table without this number."""

    run: str
    name: str
    trials: Path
    history: Path | None
    verdicts: Path | None


def numbered(runs: Iterable[RunInput]) -> list[Numbered]:
    """The parts of some runs."""
    found = []
    for run in runs:
        of = {table: {path.name: path for path in run.parts[table]} for table in ("history", "verdicts")}
        for path in run.parts["trials"]:
            name = path.name
            found.append(Numbered(run.run, name, path, of["history"].get(name), of["verdicts"].get(name)))
    return found


class History(NamedTuple):
    """One row. ``trial`` is None for an unreadable part."""

    run: str
    part: str
    trial: int | None
    problem: str | None
    """Why it is not measured: its history is missing, incomplete, damaged, or unreadable."""
    kept: int = 0
    """1 if the run recorded that it kept this history."""
    read: int = 0
    odd: int = 0
    events: int = 0
    unended: int = 0
    """1 if the trial is incomplete, so that it is not rejudged."""
    judged: int = 0
    """1 if it was rejudged,"""
    verdicts: int = 0
    """by so many laws,"""
    different: int = 0
    """of which so many had another recorded verdict;"""
    worse: int = 0
    """so many violations among them were not recorded;"""
    absent: int = 0
    """and so many laws that judged it then are not installed here."""
    role: str = ""
    flush: str = ""


class Measured(NamedTuple):
    history: History
    rows: Rows


def of_part(part: Numbered, bench: Bench, judging: bool = True) -> Iterator[Measured]:
    """The histories of a part, and a row for each missing one."""
    try:
        kept = _kept(part)
        stored = _stored(part, frozenset(kept)) if judging else {}
    except tables.UNREADABLE as why:
        yield _broken(part, why)
        return
    missing = {trial: events for trial, events in kept.items() if events}
    try:
        recorded = tables.batches(part.history) if part.history is not None else ()
        for (run, trial), events in reader.histories(recorded):
            wrong = _wrong(part, run, trial, events, missing.pop(trial, None))
            row = History(part.run, part.name, trial, wrong, kept=int(trial in kept), events=len(events))
            yield _problem(row, wrong) if wrong else _measured(row, events, bench, stored.get(trial, {}), judging)
    except tables.UNREADABLE as why:
        yield _broken(part, why)
    for trial in missing:
        yield _problem(History(part.run, part.name, trial, None, kept=1), "its history is not there")


def _kept(part: Numbered) -> dict[int, int]:
    rows = tables.read_part(part.trials).select(["trial", "events", "kept"]).to_pylist()
    return {row["trial"]: row["events"] for row in rows if row["kept"]}


def _stored(part: Numbered, trials: frozenset[int]) -> dict[int, dict[str, dict[str, Any]]]:
    found: dict[int, dict[str, dict[str, Any]]] = {}
    if part.verdicts is not None and trials:
        for row in tables.read_part(part.verdicts, trials).to_pylist():
            found.setdefault(row["trial"], {})[row["law"]] = row
    return found


def _wrong(part: Numbered, run: str, trial: int, events: list[Event], expected: int | None) -> str | None:
    if run != part.run:
        return f"it is a history of run {run}"
    if expected is None:
        return "the run did not keep it here, or it is there twice"
    if len(events) != expected:
        return f"it has {len(events):,} of the {expected:,} events that were recorded"
    if any(event.seq != number for number, event in enumerate(events)):
        return "its events are not in order, or some are there twice"
    return None


def _problem(row: History, what: str) -> Measured:
    return Measured(row._replace(problem=what[:MAX_REASON], odd=1, events=0), {})


def _broken(part: Numbered, why: Exception) -> Measured:
    reason = " ".join(str(why).split())
    return _problem(History(part.run, part.name, None, None), f"damaged: {reason or type(why).__name__}")


def _measured(
    row: History, events: list[Event], bench: Bench, stored: Mapping[str, dict[str, Any]], judging: bool
) -> Measured:
    try:
        deployed, rows = measure(events)
        read = Measured(row._replace(read=1, **deployed._asdict()), rows)
        return _judged(read, events, bench, stored) if judging else read
    except Exception as why:
        # A foreign history may contain anything, and a third party's law may fail to load. The other histories are
        # measured all the same.
        return _problem(row, f"cannot be measured or judged: {type(why).__name__}: {' '.join(str(why).split())}")


def _judged(read: Measured, events: list[Event], bench: Bench, stored: Mapping[str, dict[str, Any]]) -> Measured:
    ended = any(event.kind == "mark" and event.f == ENDED for event in reversed(events))
    again = {each["law"]: each for each in verdict_rows(bench.judge_all(events))} if ended else {}
    found = list(differences(stored, again, bench)) if ended else list(_hasty(stored))
    judged = read.history._replace(
        unended=int(not ended), judged=int(ended), verdicts=len(again), different=len(found),
        worse=sum(each.rank == 0 for each in found),
        absent=len(bench.absent & stored.keys()),
    )  # fmt: skip
    return Measured(judged, {**read.rows, "differences": found})


def differences(
    stored: Mapping[str, dict[str, Any]], again: Mapping[str, dict[str, Any]], bench: Bench
) -> Iterator[Difference]:
    """The laws whose stored and new verdicts on one trial differ. Absent laws are not compared."""
    for law in sorted({*stored, *again} - bench.absent):
        before, after = stored.get(law), again.get(law)
        if before is None and bench.by_scenario:
            # Each scenario names the laws that judge it.
            continue
        if before is None or after is None or any(before[each] != after[each] for each in COMPARED):
            yield _difference(law, before, after)


def _hasty(stored: Mapping[str, dict[str, Any]]) -> Iterator[Difference]:
    for law, row in sorted(stored.items()):
        if row["verdict"] != "unknown":
            yield _difference(law, row, None)


def _difference(law: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Difference:
    verdicts = [row["verdict"] if row else None for row in (before, after)]
    judged = [row["judged"] if row else None for row in (before, after)]
    return Difference(int(verdicts[0] == "violated" or verdicts[1] != "violated"), law, *verdicts, *judged)
