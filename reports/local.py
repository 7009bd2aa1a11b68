"""The local engine: Arrow computes the same tables in this process, in seconds, for the runs of one desk.

A test holds every table equal to Spark's. Recorded histories are measured and judged by the very function that Spark's
tasks run (:mod:`pairproof.reports.arrow_traces`).
"""

import json
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pairproof.harness.runs.tables import SCHEMAS, read_part
from pairproof.harness.verdict import CORPUS, Verdict
from pairproof.reports import arrow_traces
from pairproof.reports.inputs import RunInput, columns
from pairproof.reports.measures import (
    BLIND,
    BY_SEARCH,
    CATCH_UP,
    FIRSTS,
    HISTORIES,
    KEPT,
    MEASURED,
    MEASURES,
    OBJECTIVE_KEYS,
    OBJECTIVES,
    SEARCHES,
    SPREADS,
    VERDICTS,
    Measure,
)


def measure(runs: Sequence[RunInput], judging: bool = True) -> dict[str, pa.Table]:
    """Every table of :mod:`pairproof.reports.measures`, as the Spark job makes them."""
    return measured(runs, judging)[0]


def measured(runs: Sequence[RunInput], judging: bool) -> tuple[dict[str, pa.Table], set[tuple[str, str]]]:
    """The same, and the parts, by run and name, whose histories nobody can read to their end."""
    verdicts, trials, faults = (read(runs, table) for table in ("verdicts", "trials", "faults"))
    views = {
        "judged": _judged(verdicts, trials),
        "injected": _injected(faults),
        "effected": _exploded(faults, ("name", "lab"), "effect", ("effect", "amount")),
        "noted": _exploded(verdicts, ("law", "target", "lab"), "notes", ("note", "amount")),
        "searched": _searched(trials),
        "unexecuted": _exploded(trials, ("target", "lab"), "skipped", ("reason", "trials")),
        "coverage": read(runs, "coverage"),
    }
    for name, each in MEASURES.items():
        views[name] = _sum(views[each.source], each)
    recorded = arrow_traces.views(runs, judging) | {MEASURED: _amounts(read(runs, "objectives"))}
    found = {name: views[name] for name in MEASURES} | {"firsts": _firsts(verdicts)}
    found |= {name: arrow_traces.spread(recorded[each.source], each) for name, each in SPREADS.items()}
    alone = recorded["traces"].filter(pc.is_null(recorded["traces"]["trial"]))
    unreadable = set(zip(alone["run"].to_pylist(), alone["part"].to_pylist(), strict=True))
    return found | arrow_traces.lists(recorded) | {"histories": _sum(recorded["traces"], HISTORIES)}, unreadable


def read(runs: Sequence[RunInput], table: str) -> pa.Table:
    """One table of all runs, with the run's target and lab beside it."""
    names = [name for name, _ in columns(table)]
    pieces = [
        SCHEMAS[table]
        .empty_table()
        .select(names)
        .append_column("target", pa.array([], "string"))
        .append_column("lab", pa.array([], "string"))
    ]
    for run in runs:
        for part in run.parts[table]:
            rows = read_part(part).select(names)
            for fact in ("target", "lab"):
                rows = rows.append_column(fact, pa.repeat(run.facts[fact], len(rows)))
            pieces.append(rows)
    return pa.concat_tables(pieces)


def of_trials(
    runs: Sequence[RunInput], table: str, wanted: Iterable[tuple[str, int]], at_most: int | None = None,
    without: Container[tuple[str, str]] = (),
) -> pa.Table:  # fmt: skip
    """The rows of a run-folder table that belong to the ``wanted`` trials, as the Spark job gives them.

    ``at_most``: only events with a ``seq`` below it. ``without``: parts, by run and name, that are not read.
    """
    names = [name for name, _ in columns(table)]
    pieces = [SCHEMAS[table].empty_table().select(names)]
    by_run: dict[str, list[int]] = {}
    for name, trial in wanted:
        by_run.setdefault(name, []).append(trial)
    for run in runs:
        for part in run.parts[table] if run.run in by_run else ():
            if (run.run, part.name) not in without:
                rows = read_part(part, by_run[run.run]).select(names)
                pieces.append(rows if at_most is None else rows.filter(pc.less(rows["seq"], at_most)))
    return pa.concat_tables(pieces).sort_by([(key, "ascending") for key in ("run", "trial", "seq") if key in names])


def kept(runs: Sequence[RunInput], at_most: int) -> pa.Table:
    """The first trials whose histories were kept, as the Spark job gives them."""
    rows = read(runs, "trials")
    found = rows.filter(rows["kept"]).select(list(KEPT))
    return found.sort_by([("run", "ascending"), ("trial", "ascending")]).slice(0, at_most)


def by_search(runs: Sequence[RunInput]) -> pa.Table:
    """What :data:`~pairproof.reports.measures.BY_SEARCH` says, as the Spark job gives it."""
    verdicts = read(runs, "verdicts").select(["run", "trial", "law", "verdict"])
    seen = verdicts.filter(pc.invert(pc.is_in(verdicts["verdict"], pa.array(BLIND))))
    rows = seen.join(read(runs, "trials").select(["run", "trial", "origin"]), ["run", "trial"])
    violated = pc.cast(pc.equal(rows["verdict"], Verdict.VIOLATED.value), pa.int64())
    ones = pa.repeat(pa.scalar(1, pa.int64()), len(rows))
    keys, sums = BY_SEARCH
    return _sum(pa.table({name: rows[name] for name in keys} | dict(zip(sums, (ones, violated), strict=True))),
                Measure("", keys, sums))  # fmt: skip


def _judged(verdicts: pa.Table, trials: pa.Table) -> pa.Table:
    corpus = trials.filter(pc.equal(trials["origin"], CORPUS)).select(["run", "trial", "origin"])
    verdicts = verdicts.join(corpus, ["run", "trial"], join_type="left outer")
    told = verdicts["verdict"]
    columns = {name: verdicts[name] for name in ("run", "target", "lab", "law", "judged", "broken")}
    columns |= {
        "source": pc.fill_null(verdicts["origin"], SEARCHES),
        "exercised": pc.cast(pc.greater(verdicts["judged"], 0), pa.int64()),
    }
    ones = {column: pc.cast(pc.equal(told, each.value), pa.int64()) for each, column in VERDICTS.items()}
    return pa.table(columns | ones | {"trials": pa.repeat(pa.scalar(1, pa.int64()), len(verdicts))})


def _injected(faults: pa.Table) -> pa.Table:
    bit = pc.cast(pc.greater(faults["bit"], 0), pa.int64())
    uses = pa.repeat(pa.scalar(1, pa.int64()), len(faults))
    sums = {"uses": uses, "bit": bit, "missed": pc.subtract(uses, bit)}
    places = pa.array([_place(args) for args in faults["args"].to_pylist()], pa.string())
    return pa.table({"name": faults["name"], "lab": faults["lab"], "place": places, **sums})


@lru_cache(maxsize=4_096)
def _place(args: str | None) -> str:
    told = json.loads(args or "{}")
    return str(told.get("node") or told.get("link") or "")


def _searched(trials: pa.Table) -> pa.Table:
    kept = pc.cast(trials["kept"], pa.int64())
    columns = {name: trials[name] for name in ("target", "lab", "origin", "events", "virtual_ns")}
    return pa.table(columns | {"kept": kept, "trials": pa.repeat(pa.scalar(1, pa.int64()), len(trials))})


def _exploded(table: pa.Table, keys: tuple[str, ...], column: str, names: tuple[str, str]) -> pa.Table:
    """One row for each entry of a JSON object (its name and number) or list (the text and 1) in ``column``."""
    # Few texts differ: each is parsed once, and its numbers multiplied by how often it occurs.
    counted = table.select([*keys, column]).group_by([*keys, column]).aggregate([([], "count_all")])
    rows: list[tuple[Any, ...]] = []
    for row in counted.to_pylist():
        found = json.loads(row[column] or "null") or {}
        entries = found.items() if isinstance(found, dict) else ((each, 1) for each in found)
        rows += [(*(row[key] for key in keys), name, amount * row["count_all"]) for name, amount in entries]
    columns = list(zip(*rows, strict=True)) if rows else [()] * (len(keys) + 2)
    types = [pa.string()] * (len(keys) + 1) + [pa.int64()]
    return pa.table([pa.array(each, kind) for each, kind in zip(columns, types, strict=True)], names=[*keys, *names])


def _sum(view: pa.Table, each: Measure) -> pa.Table:
    found = view.group_by(list(each.keys)).aggregate([(name, "sum") for name in each.sums])
    found = found.select([*each.keys, *(f"{name}_sum" for name in each.sums)]).rename_columns([*each.keys, *each.sums])
    return found.sort_by([(key, "ascending") for key in each.keys])


def _firsts(verdicts: pa.Table) -> pa.Table:
    told = verdicts["verdict"]
    chosen = verdicts.filter(pc.or_(pc.equal(told, "violated"), pc.equal(told, "unknown"))).sort_by("trial")
    keys = list(FIRSTS[:3])
    picked = chosen.group_by(keys, use_threads=False).aggregate([(name, "first") for name in FIRSTS[3:]])
    picked = picked.select([*keys, *(f"{name}_first" for name in FIRSTS[3:])]).rename_columns(list(FIRSTS))
    return picked.sort_by([(key, "ascending") for key in keys])


def _amounts(rows: pa.Table) -> pa.Table:
    """A row for each objective of each row of ``objectives``: slaves have a catch-up only, a master has all others."""
    is_master = pc.equal(rows["node"], "master")
    pieces = []
    for what in OBJECTIVES:
        own = rows.filter(pc.invert(is_master) if what == CATCH_UP else is_master)
        columns = {name: own[name] for name in ("run", "trial", *OBJECTIVE_KEYS[1:])}
        pieces.append(pa.table({"what": pa.repeat(what, len(own)), **columns, "amount": own[what]}))
    return pa.concat_tables(pieces)
