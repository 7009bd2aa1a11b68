"""The recorded histories of a piece of a run, measured and judged again, and how what was measured is distributed."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pairproof.harness.runs.tables import ARROW
from pairproof.reports.inputs import RunInput
from pairproof.reports.measures import LISTS, MAX_LISTED, PERCENTILES, PLACE, Spread
from pairproof.reports.traces.bench import bench
from pairproof.reports.traces.deployment import Deployment
from pairproof.reports.traces.histories import batches, numbered, schema
from pairproof.reports.traces.measured import TABLES

VALUES = "values"
"""The column of what is distributed, a list of numbers in each row."""

BESIDE = ("run", "trial", *PLACE, *Deployment._fields)


def views(runs: Sequence[RunInput], judging: bool) -> dict[str, pa.Table]:
    """``traces``, a row for each kept history, and one for each nested table."""
    benches = {run.run: bench(run) for run in runs}
    facts = {run.run: run.facts for run in runs}
    rows = pa.Table.from_batches(batches(numbered(runs), benches, judging), schema()).combine_chunks()
    for name in PLACE:
        rows = rows.append_column(name, pa.array([facts[run][name] for run in rows["run"].to_pylist()], pa.string()))
    return {"traces": rows} | {table: _inline(rows, table) for table in TABLES}


def _inline(rows: pa.Table, table: str) -> pa.Table:
    nested = rows[table].combine_chunks()
    parents, values = pc.list_parent_indices(nested), pc.list_flatten(nested)
    columns = {name: rows[name].take(parents) for name in BESIDE}
    return pa.table(columns | {field.name: pc.struct_field(values, field.name) for field in values.type})


def lists(found: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of :data:`~pairproof.reports.measures.LISTS`, of some histories."""
    odd = found["traces"].filter(pc.is_valid(found["traces"]["problem"]))
    told = {"problems": odd, "differences": found["differences"]}
    return {name: first(told[name].select(list(columns)), columns) for name, columns in LISTS.items()}


def first(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The first rows of a list, by its columns; null is the smallest."""
    order = pc.sort_indices(rows, [(name, "ascending", "at_start") for name in columns])
    return rows.take(order[:MAX_LISTED])


def gathered(view: pa.Table, each: Spread) -> pa.Table:
    """One spread of a view that has ``run`` and ``trial``, its values not told yet: in :data:`VALUES`, null where one
    was to be measured and is not known."""
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    wanted = [*each.keys, "run", "trial", *each.sums, *([each.value] if each.value else [])]
    width = len(each.keys)
    for row in zip(*(view[name].to_pylist() for name in wanted), strict=True):
        groups.setdefault(row[:width], []).append(row[width:])
    lines = [(*key, *_gathered(rows, each)) for key, rows in groups.items()]
    names = [*each.keys, "trials", *each.sums, *([VALUES] if each.value else [])]
    kinds = [view.schema.field(name).type for name in each.keys] + [ARROW[int]] * (1 + len(each.sums))
    return _table(lines, names, [*kinds, *([pa.list_(ARROW[int])] if each.value else [])])


def _gathered(rows: Sequence[tuple[Any, ...]], each: Spread) -> tuple[Any, ...]:
    trials = len({row[:2] for row in rows})
    sums = [sum(row[2 + number] or 0 for row in rows) for number in range(len(each.sums))]
    return trials, *sums, *([[row[-1] for row in rows]] if each.value else [])


def spread(rows: pa.Table, each: Spread) -> pa.Table:
    """The spread of what was :func:`gathered`, of one piece or of several together."""
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    width = len(each.keys)
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        groups.setdefault(row[:width], []).append(row[width:])
    lines = [(*key, *_told(found, each)) for key, found in sorted(groups.items())]
    kinds = [rows.schema.field(name).type for name in each.keys] + [ARROW[int]] * (len(each.columns) - width)
    return _table(lines, each.columns, kinds)


def _told(rows: Sequence[tuple[Any, ...]], each: Spread) -> tuple[int | None, ...]:
    sums = [sum(row[number] for row in rows) for number in range(1 + len(each.sums))]
    return *sums, *(_distribution([value for row in rows for value in row[-1]]) if each.value else ())


def _table(lines: Sequence[tuple[Any, ...]], names: Sequence[str], kinds: Sequence[Any]) -> pa.Table:
    columns = list(zip(*lines, strict=True)) if lines else [()] * len(names)
    return pa.table([pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)], names=list(names))


def _distribution(amounts: Sequence[int | None]) -> tuple[int | None, ...]:
    known = sorted(each for each in amounts if each is not None)
    # Rounded up in whole numbers: the first value that so many in a hundred do not exceed.
    shares = [known[-(-share * len(known) // 100) - 1] if known else None for share in PERCENTILES.values()]
    return len(amounts), len(amounts) - len(known), *shares
