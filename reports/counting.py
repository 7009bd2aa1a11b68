"""Counts runs: every table of a report, by Arrow, in this process or in Spark's tasks.

Runs are counted in pieces, a few parts of one run each (:func:`pieces`). The result of a piece (:func:`counted`) is
small and mergeable (:func:`merged`): sums are added, lists are cut to their first rows, and distributions keep the
frequency of each value until the end (:func:`completed`). A trial lies in one part. Memory depends on a piece, not on
the runs; any division into pieces gives the same tables.
"""

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..harness.judging.verdict import CORPUS, Verdict
from ..harness.runs import schema
from ..harness.runs.part_size import Budget
from ..harness.runs.reader import read as read_rows
from ..harness.runs.tables import SCHEMAS
from . import arrow_traces
from .arrow_traces import of_rows, total
from .inputs import RunInput, columns
from .measures import (
    BLIND,
    BY_SEARCH,
    CATCH_UP,
    FIRSTS,
    HISTORIES,
    KEPT,
    LISTS,
    MAX_FIRSTS,
    MAX_KEPT,
    MEASURED,
    MEASURES,
    OBJECTIVE_KEYS,
    OBJECTIVES,
    SEARCHES,
    SPREADS,
    VERDICTS,
    Measure,
)

Tables = dict[str, pa.Table]

PIECE_ROWS = 400_000
"""Rows of parts counted at once, without histories: some 400 MB. A part is never split."""
PIECE_EVENTS = 2_000_000
"""As :data:`PIECE_ROWS`, for events of histories, of which one is in memory at a time."""

MERGED_AT_ONCE = 32

UNREADABLE = "unreadable"
"""The table of parts, by run and name, with unreadable histories."""


def pieces(runs: Iterable[RunInput]) -> Iterator[RunInput]:
    """The runs in pieces; a run without records is one piece without parts."""
    for run in runs:
        names = [path.name for path in run.parts["trials"]] or [""]
        sizes = {table: {path.name: rows for path, rows in paths.items()} for table, paths in run.parts.items()}
        chosen: list[str] = []
        small = large = 0
        for name in names:
            more = sum(each.get(name, 0) for table, each in sizes.items() if table != "history")
            events = sizes["history"].get(name, 0)
            if chosen and (small + more > PIECE_ROWS or large + events > PIECE_EVENTS):
                yield _piece(run, chosen)
                chosen, small, large = [], 0, 0
            chosen.append(name)
            small, large = small + more, large + events
        yield _piece(run, chosen)


def _piece(run: RunInput, names: Container[str]) -> RunInput:
    # Findings and scenarios are not counted, and would travel with each piece; so would the list of all parts.
    facts = {name: each for name, each in run.facts.items() if name != "contents"}
    parts = {
        table: {path: rows for path, rows in paths.items() if path.name in names} for table, paths in run.parts.items()
    }
    return RunInput(run.folder, facts, [], parts)


def counted(run: RunInput, judging: bool) -> Tables:
    """The counts of a piece; see :func:`merged`. CorruptRun if a part of it cannot be read; parts with unreadable
    histories are in :data:`UNREADABLE` instead.
    """
    runs, budget = [run], Budget()
    verdicts, trials, faults = (read(runs, table, budget) for table in ("verdicts", "trials", "faults"))
    views = {
        "judged": _judged(verdicts, trials),
        "injected": _injected(faults),
        "effected": _exploded(faults, ("name", "lab"), "effect", ("effect", "amount")),
        "noted": _exploded(verdicts, ("law", "target", "lab"), "notes", ("note", "amount")),
        "searched": _searched(trials, verdicts),
        "unexecuted": _exploded(trials, ("target", "lab"), "skipped", ("reason", "trials")),
        "coverage": read(runs, "coverage", budget),
    }
    recorded = arrow_traces.views(runs, judging) | {MEASURED: _amounts(read(runs, "objectives", budget))}
    views["lost"] = recorded["lost"] = _lost(read(runs, "losses", budget))
    found = {name: total(views[each.source], each) for name, each in MEASURES.items() if each.source in views}
    found |= {name: arrow_traces.gathered(recorded[each.source], each) for name, each in SPREADS.items()}
    found |= arrow_traces.lists(recorded)
    alone = recorded["traces"].filter(pc.is_null(recorded["traces"]["trial"]))
    return found | {
        "firsts": _firsts(verdicts, trials), "histories": total(recorded["traces"], HISTORIES),
        "by_search": _by_search(verdicts, trials), "kept": _kept(trials), UNREADABLE: alone.select(["run", "part"]),
    }  # fmt: skip


def merged(counts: Iterable[Tables]) -> Tables:
    """The counts of several pieces together."""
    known: list[Tables] = []
    for each in counts:
        known.append(each)
        if len(known) == MERGED_AT_ONCE:
            known = [_merged(known)]
    return _merged(known or [_nothing()])


def _merged(known: Sequence[Tables]) -> Tables:
    rows = {name: pa.concat_tables([each[name] for each in known]) for name in known[0]}
    found = {name: total(rows[name], each) for name, each in MEASURES.items() if name in rows}
    found |= {name: arrow_traces.first(rows[name], columns) for name, columns in LISTS.items()}
    found |= {name: arrow_traces.together(rows[name], each) for name, each in SPREADS.items()}
    keys, sums = BY_SEARCH
    return rows | found | {
        "firsts": _leading(rows["firsts"]), "histories": total(rows["histories"], HISTORIES),
        "by_search": total(rows["by_search"], Measure("", keys, sums)), "kept": _first_kept(rows["kept"]),
    }  # fmt: skip


def completed(counts: Iterable[Tables]) -> Tables:
    """The tables of a report, of all pieces: those of :mod:`~pairproof.reports.measures`, ``by_search``, ``kept`` and
    :data:`UNREADABLE`.
    """
    found = merged(counts)
    # Measures of an earlier measure.
    found |= {name: total(found[each.source], each) for name, each in MEASURES.items() if name not in found}
    return found | {name: arrow_traces.spread(found[name], each) for name, each in SPREADS.items()}


def _nothing() -> Tables:
    empty: dict[str, dict[Path, int]] = {table: {} for table in schema.TABLES}
    return counted(RunInput(Path(), {"run": "", "target": "", "lab": "", "laws": [], "observes": []}, [], empty), False)


def read(runs: Sequence[RunInput], table: str, budget: Budget) -> pa.Table:
    """One table of all runs, with the run's target and lab. Without schedules, which are long."""
    names = [name for name, _ in columns(table) if name != "schedule"]
    pieces = [
        SCHEMAS[table]
        .empty_table()
        .select(names)
        .append_column("target", pa.array([], "string"))
        .append_column("lab", pa.array([], "string"))
    ]
    for run in runs:
        for part in run.parts[table]:
            rows = read_rows(part, run.run).select(names)
            budget.keep(rows)
            for fact in ("target", "lab"):
                rows = rows.append_column(fact, pa.repeat(run.facts[fact], len(rows)))
            pieces.append(rows)
    return pa.concat_tables(pieces)


def of_trials(
    runs: Sequence[RunInput], table: str, wanted: Iterable[tuple[str, int]], at_most: int | None = None,
    without: Container[tuple[str, str]] = (),
) -> pa.Table:  # fmt: skip
    """The rows of a run-folder table that belong to the ``wanted`` trials, as from the Spark job.

    ``at_most``: only events with a ``seq`` below it. ``without``: parts, by run and name, to skip.
    """
    names = [name for name, _ in columns(table)]
    pieces = [SCHEMAS[table].empty_table().select(names)]
    by_run: dict[str, list[int]] = {}
    for name, trial in wanted:
        by_run.setdefault(name, []).append(trial)
    for run in runs:
        budget = Budget()
        for part in run.parts[table] if run.run in by_run else ():
            if (run.run, part.name) not in without:
                rows = read_rows(part, run.run, by_run[run.run]).select(names)
                rows = rows if at_most is None else rows.filter(pc.less(rows["seq"], at_most))
                budget.keep(rows)
                pieces.append(rows)
    return pa.concat_tables(pieces).sort_by([(key, "ascending") for key in ("run", "trial", "seq") if key in names])


def _kept(trials: pa.Table) -> pa.Table:
    return _first_kept(trials.filter(trials["kept"]).select(list(KEPT)))


def _first_kept(rows: pa.Table) -> pa.Table:
    return rows.sort_by([("run", "ascending"), ("trial", "ascending")]).slice(0, MAX_KEPT)


def _by_search(verdicts: pa.Table, trials: pa.Table) -> pa.Table:
    verdicts = verdicts.select(["run", "trial", "law", "verdict", "trials"])
    seen = verdicts.filter(pc.invert(pc.is_in(verdicts["verdict"], pa.array(BLIND))))
    rows = seen.join(trials.select(["run", "trial", "origin"]), ["run", "trial"])
    violated = pc.cast(pc.equal(rows["verdict"], Verdict.VIOLATED.value), pa.int64())
    keys, sums = BY_SEARCH
    view = {name: rows[name] for name in keys} | dict(zip(sums, (rows["trials"], violated), strict=True))
    return total(pa.table(view), Measure("", keys, sums))


def _judged(verdicts: pa.Table, trials: pa.Table) -> pa.Table:
    corpus = trials.filter(pc.equal(trials["origin"], CORPUS)).select(["run", "trial", "origin"])
    verdicts = verdicts.join(corpus, ["run", "trial"], join_type="left outer")
    verdict = verdicts["verdict"]
    columns = {name: verdicts[name] for name in ("run", "target", "lab", "law", "judged", "broken")}
    columns |= {
        "source": pc.fill_null(verdicts["origin"], SEARCHES),
        "exercised": pc.cast(pc.greater(verdicts["judged"], 0), pa.int64()),
    }
    trials = verdicts["trials"]
    counts = {
        column: pc.multiply(trials, pc.cast(pc.equal(verdict, each.value), pa.int64()))
        for each, column in VERDICTS.items()
    }
    return pa.table(columns | counts | {"trials": trials})


def _injected(faults: pa.Table) -> pa.Table:
    bit = pc.cast(pc.greater(faults["bit"], 0), pa.int64())
    uses = pa.repeat(pa.scalar(1, pa.int64()), len(faults))
    sums = {"uses": uses, "bit": bit, "missed": pc.subtract(uses, bit)}
    places = pa.array([_place(args) for args in faults["args"].to_pylist()], pa.string())
    return pa.table({**{name: faults[name] for name in ("run", "name", "lab")}, "place": places, **sums})


@lru_cache(maxsize=4_096)
def _place(args: str | None) -> str:
    targets = json.loads(args or "{}")
    return str(targets.get("node") or targets.get("link") or "")


def _searched(trials: pa.Table, verdicts: pa.Table) -> pa.Table:
    """``violated``: whether the trial, of a piece of one run, violates any law."""
    violating = verdicts["trial"].filter(pc.equal(verdicts["verdict"], Verdict.VIOLATED.value))
    violated = pc.cast(pc.is_in(trials["trial"], violating.combine_chunks()), pa.int64())
    kept = pc.cast(trials["kept"], pa.int64())
    columns = {name: trials[name] for name in ("run", "target", "lab", "origin", "events", "virtual_ns")}
    ones = pa.repeat(pa.scalar(1, pa.int64()), len(trials))
    return pa.table(columns | {"kept": kept, "violated": violated, "trials": ones})


def _exploded(table: pa.Table, keys: tuple[str, ...], column: str, names: tuple[str, str]) -> pa.Table:
    """One row for each entry of a JSON object (its name and number) or list (the text and 1) in ``column``."""
    # Few texts differ: each is parsed once, and its numbers multiplied by its frequency.
    counted = table.select([*keys, column]).group_by([*keys, column]).aggregate([([], "count_all")])
    rows: list[tuple[Any, ...]] = []
    for row in counted.to_pylist():
        found = json.loads(row[column] or "null") or {}
        entries = found.items() if isinstance(found, dict) else ((each, 1) for each in found)
        rows += [(*(row[key] for key in keys), name, amount * row["count_all"]) for name, amount in entries]
    return of_rows(rows, [*((name, str) for name in (*keys, names[0])), (names[1], int)])


def _firsts(verdicts: pa.Table, trials: pa.Table) -> pa.Table:
    verdict = verdicts["verdict"]
    chosen = verdicts.filter(pc.or_(pc.equal(verdict, "violated"), pc.equal(verdict, "unknown")))
    found = chosen.select(list(FIRSTS[:-1])).join(trials.select(["run", "trial", "origin"]), ["run", "trial"])
    return _leading(found.select(list(FIRSTS)))


def _leading(rows: pa.Table) -> pa.Table:
    rows = rows.sort_by([(key, "ascending") for key in FIRSTS[:4]])
    alike = pc.binary_join_element_wise(*(rows[key] for key in FIRSTS[:3]), "\0").to_numpy(zero_copy_only=False)
    places = np.arange(len(rows))
    begins = np.where(np.append(True, alike[1:] != alike[:-1])[: len(rows)], places, 0)
    return rows.filter(pa.array(places - np.maximum.accumulate(begins) < MAX_FIRSTS, pa.bool_()))


def _lost(rows: pa.Table) -> pa.Table:
    return rows.append_column("unaudited", pc.cast(pc.is_null(rows["lost"]), pa.int64()))


def _amounts(rows: pa.Table) -> pa.Table:
    """A row for each objective of each row of ``objectives``: slaves have a catch-up only, a master has all others."""
    is_master = pc.equal(rows["node"], "master")
    pieces = []
    for what in OBJECTIVES:
        own = rows.filter(pc.invert(is_master) if what == CATCH_UP else is_master)
        columns = {name: own[name] for name in ("run", "trial", *OBJECTIVE_KEYS[1:])}
        pieces.append(pa.table({"what": pa.repeat(what, len(own)), **columns, "amount": own[what]}))
    return pa.concat_tables(pieces)
