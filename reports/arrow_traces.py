"""Measures and rejudges the recorded histories of a part of a run, and computes distributions."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..harness.runs.tables import ARROW
from .inputs import RunInput
from .measures import LISTS, MAX_LISTED, PERCENTILES, PLACE, Spread
from .traces.environment import bench
from .traces.histories import batches, numbered, schema
from .traces.measured import TABLES
from .traces.sends import Deployment

VALUES = "values"
"""The column of a distribution: in each row a list of values with their frequencies."""

EXACT, DIGITS = 10_000, 3
"""With more values, the distribution uses values rounded up to so many digits."""

BESIDE = ("run", "trial", *PLACE, *Deployment._fields)


def views(runs: Sequence[RunInput], judging: bool) -> dict[str, pa.Table]:
    """``traces``, a row for each sampled history, and a view for each nested table."""
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
    listed = {"problems": odd, "differences": found["differences"]}
    return {name: first(listed[name].select(list(columns)), columns) for name, columns in LISTS.items()}


def first(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The first rows of a list, ordered by its columns, null first."""
    order = pc.sort_indices(rows, [(name, "ascending", "at_start") for name in columns])
    return rows.take(order[:MAX_LISTED])


def gathered(view: pa.Table, each: Spread) -> pa.Table:
    """One spread of a view with ``run`` and ``trial``: its values, null where a measurement is missing, and their
    frequencies.
    """
    wanted = [*each.keys, "run", "trial", *each.sums, each.value]
    width = len(each.keys)
    found: Groups = {}
    trials: dict[tuple[Any, ...], set[tuple[str, int]]] = {}
    for row in zip(*(view[name].to_pylist() for name in wanted), strict=True):
        trials.setdefault(row[:width], set()).add(row[width : width + 2])
        found.setdefault(row[:width], _Gathered(each)).add(0, row[width + 2 : -1], [(row[-1], 1)])
    for key, group in found.items():
        group.trials = len(trials[key])
    return _gathered_table(found, each, view)


def together(rows: pa.Table, each: Spread) -> pa.Table:
    """Merge the :func:`gathered` rows of several pieces."""
    return _gathered_table(_groups(rows, each), each, rows)


def spread(rows: pa.Table, each: Spread) -> pa.Table:
    """The spread of :func:`gathered` rows, of one piece or several."""
    groups = sorted(_groups(rows, each).items(), key=lambda found: found[0])
    lines = [(*key, group.trials, *group.sums, *_distribution(group.values)) for key, group in groups]
    return _table(
        lines, each, rows, each.columns[len(each.keys) :], [ARROW[int]] * (len(each.columns) - len(each.keys))
    )


class _Gathered:
    def __init__(self, each: Spread) -> None:
        self.trials = 0
        self.sums = [0] * len(each.sums)
        self.values: Counter[int | None] = Counter()

    def add(self, trials: int, sums: Sequence[int | None], values: Iterable[tuple[int | None, int]]) -> None:
        self.trials += trials
        self.sums = [known + (more or 0) for known, more in zip(self.sums, sums, strict=True)]
        for value, times in values:
            self.values[value] += times


Groups = dict[tuple[Any, ...], _Gathered]


def _groups(rows: pa.Table, each: Spread) -> Groups:
    found: Groups = {}
    width = len(each.keys)
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        values = ((listed["value"], listed["times"]) for listed in row[-1])
        found.setdefault(row[:width], _Gathered(each)).add(row[width], row[width + 1 : -1], values)
    for group in found.values():
        group.values = _rounded(group.values)
    return found


def _rounded(values: Counter[int | None]) -> Counter[int | None]:
    """The values, unchanged up to :data:`EXACT` of them; more are rounded up, so that few differ.

    Any division into pieces gives the same result: a piece with too many values is in a group with too many, and
    rounding is idempotent.
    """
    if values.total() <= EXACT:
        return values
    found: Counter[int | None] = Counter()
    for value, times in values.items():
        found[value if value is None else rounded_up(value)] += times
    return found


def rounded_up(value: int) -> int:
    """To :data:`DIGITS` digits."""
    unit: int = 10 ** max(0, len(str(abs(value))) - DIGITS)
    return -(-value // unit) * unit


def _gathered_table(groups: Groups, each: Spread, like: pa.Table) -> pa.Table:
    lines = []
    for key, group in groups.items():
        known = sorted(_rounded(group.values).items(), key=lambda found: (found[0] is not None, found[0]))
        lines.append((*key, group.trials, *group.sums, [{"value": value, "times": times} for value, times in known]))
    listed = pa.list_(pa.struct([("value", ARROW[int]), ("times", ARROW[int])]))
    return _table(lines, each, like, ["trials", *each.sums, VALUES], [*[ARROW[int]] * (1 + len(each.sums)), listed])


def _table(
    lines: Sequence[tuple[Any, ...]], each: Spread, like: pa.Table, names: Sequence[str], kinds: Sequence[Any]
) -> pa.Table:
    """``like``: a table whose keys have the needed types."""
    kinds = [*(like.schema.field(name).type for name in each.keys), *kinds]
    columns = list(zip(*lines, strict=True)) if lines else [()] * len(kinds)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=[*each.keys, *names])


def _distribution(values: Counter[int | None]) -> tuple[int | None, ...]:
    known = sorted((value, times) for value, times in values.items() if value is not None)
    number = sum(times for _, times in known)
    # In integers: the first value that at least so many percent do not exceed.
    wanted = [-(-share * number // 100) for share in PERCENTILES.values()]
    ends = list(accumulate(times for _, times in known))
    shares = [known[bisect_left(ends, least)][0] if known else None for least in wanted]
    return values.total(), values.total() - number, *shares
