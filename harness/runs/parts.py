"""The rows of a run's part: the tables of some trials, and their files.

A part has one number in every table. ``trials`` is written last: it commits the part. A second attempt of a
deterministic lab writes the same part.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pairproof import __version__

from ..exploration.losses import Loss
from ..history import Event
from ..judging.cause import cause
from ..judging.verdict import EMPTY, Judgement, Verdict
from ..trials.schedule import Args, Schedule
from ..trials.trial import FaultOutcome, Measured, Trial
from . import atomic, tables
from .wholeness import digest, part_name

Covered = tuple[str, str, str]
"""State, event, fault."""


class About(NamedTuple):
    run: str
    target: str
    lab: str
    commit: str


class Pending(NamedTuple):
    """One trial that waits for its part, as one value, so that an interrupt cannot split it."""

    number: int
    origin: str
    schedule: Schedule
    skipped: tuple[str, ...]
    judgements: list[Judgement]
    faults: tuple[FaultOutcome, ...]
    history: list[Event] | None
    """None if it is not kept."""
    objectives: Sequence[tuple[object, ...]]
    losses: Sequence[Loss]
    events: int
    virtual_ns: int
    cause: str

    @classmethod
    def of(cls, trial: Trial, measured: Measured, kept: bool) -> Pending:
        return cls(
            trial.number, trial.origin, trial.schedule, trial.skipped, trial.judgements, trial.faults,
            trial.events if kept else None, measured.objectives,
            [] if measured.loss is None else [measured.loss], measured.events, measured.virtual_ns, cause(trial),
        )  # fmt: skip


class Written(NamedTuple):
    rows: int
    digest: str
    """For its file: see :func:`pairproof.harness.runs.wholeness.digest`."""


def write(
    folder: Path, about: About, number: int, trials: Sequence[Pending], coverage: Mapping[Covered, int] | None = None
) -> dict[str, Written]:
    """Write a part of the run in ``folder``, by table. PairproofError if it cannot be written.

    ``coverage``: the coverage of these trials, if each part has its own.
    """
    rows = {}
    if coverage:
        rows["coverage"] = write_coverage(folder, about.run, number, coverage)
    for table in PART_ORDER:
        count, columns = COLUMNS[table](trials)
        if table == "trials":
            columns += [about.target, about.lab, [_texts(each.schedule.settings) for each in trials],
                        [each.cause for each in trials], __version__, about.commit]  # fmt: skip
        if count:
            rows[table] = write_rows(folder, about.run, table, number, count, columns)
    return rows


def write_rows(folder: Path, run: str, table: str, number: int, count: int, columns: Sequence[object]) -> Written:
    """Write one table of a part: ``columns`` without ``run``."""
    data = tables.part_bytes(tables.from_columns(table, count, [run, *columns]))
    atomic.put(folder, f"{table}/{part_name(number)}", lambda hidden: hidden.write_bytes(data))
    return Written(count, digest(data))


def write_coverage(folder: Path, run: str, number: int, coverage: Mapping[Covered, int]) -> Written:
    """Write the coverage, by state, event and fault."""
    rows = [(*key, count) for key, count in sorted(coverage.items())]
    return write_rows(folder, run, "coverage", number, len(rows), [list(each) for each in zip(*rows, strict=True)])


def _texts(settings: Args) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}


# The functions return a count of rows, and a list of values per column without ``run``.


def _trials(trials: Sequence[Pending]) -> tuple[int, list[object]]:
    return _turned([
        (each.number, each.origin, each.schedule.seed, _json(each.schedule.to_json()), each.events, each.virtual_ns,
         each.history is not None, _json(each.skipped) if each.skipped else "[]")
        for each in trials
    ])  # fmt: skip


def _verdicts(trials: Sequence[Pending]) -> tuple[int, list[object]]:
    """Rows without content (a law had nothing to judge) of trials without a history are counted in one row for each
    law, verdict and search: they are more than half of all rows.
    """
    rows: list[tuple[int, Judgement]] = []
    merged: Counter[int] = Counter()
    first: dict[tuple[str, Verdict, str], int] = {}
    for each in trials:
        for row in each.judgements:
            at = len(rows)
            if each.history is None and row == Judgement(row.law, row.verdict, 0, 0) and row.verdict in EMPTY:
                at = first.setdefault((row.law, row.verdict, each.origin), at)
            if at == len(rows):
                rows.append((each.number, row))
            merged[at] += 1
    return _turned([
        (number, row.law, row.verdict, row.judged, row.broken, row.violations[0].seq if row.violations else None,
         row.violations[0].text if row.violations else row.doubt, _json(row.notes) if row.notes else "{}", merged[at])
        for at, (number, row) in enumerate(rows)
    ])  # fmt: skip


def _faults(trials: Sequence[Pending]) -> tuple[int, list[object]]:
    return _turned([
        (each.number, row.op, row.name, _json(dict(row.args)), row.began_ns, row.ended_ns, row.bit, _json(row.effect))
        for each in trials for row in each.faults
    ])  # fmt: skip


def _objectives(trials: Sequence[Pending]) -> tuple[int, list[object]]:
    return _turned([(each.number, *row) for each in trials for row in each.objectives])


def _losses(trials: Sequence[Pending]) -> tuple[int, list[object]]:
    return _turned([(each.number, *row) for each in trials for row in each.losses])


def _turned(rows: Sequence[tuple[object, ...]]) -> tuple[int, list[object]]:
    return len(rows), [list(column) for column in zip(*rows, strict=True)]


def _history(trials: Sequence[Pending]) -> tuple[int, list[object]]:
    kept = [(each.number, each.history) for each in trials if each.history]
    numbers = list(chain.from_iterable([number] * len(history) for number, history in kept))
    events = chain.from_iterable(history for _, history in kept)
    return len(numbers), [numbers, *(zip(*events, strict=True) if numbers else ([] for _ in Event._fields))]


_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode

COLUMNS = {
    "history": _history, "objectives": _objectives, "losses": _losses, "faults": _faults, "verdicts": _verdicts,
    "trials": _trials,
}  # fmt: skip
PART_ORDER = tuple(COLUMNS)
"""``trials`` last: it commits the part."""
