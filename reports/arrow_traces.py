"""Measures and rejudges the recorded histories of a part of a run, and computes distributions."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..harness.runs.tables import ARROW
from .inputs import RunInput
from .measures import LISTS, MAX_LISTED, PERCENTILES, PLACE, Measure, Spread
from .traces.environment import bench
from .traces.histories import History, Measured, numbered, of_part
from .traces.measured import TABLES, columns
from .traces.sends import Deployment

EXACT, DIGITS = 10_000, 3
"""With more values, the distribution uses values rounded up to so many digits."""

BESIDE = (("run", str), ("trial", int), *((name, str) for name in (*PLACE, *Deployment._fields)))


def views(runs: Sequence[RunInput], judging: bool) -> dict[str, pa.Table]:
    """``traces``, a row for each sampled history, and a view for each of its tables."""
    facts = {run.run: run.facts for run in runs}
    benches = {run.run: bench(run) for run in runs}
    pieces = [_views((), ())]
    for part in numbered(runs):
        place = [facts[part.run][name] for name in PLACE]
        pieces.append(_views(list(of_part(part, benches[part.run], judging)), place))
    return {name: pa.concat_tables([piece[name] for piece in pieces]) for name in pieces[0]}


def _views(found: Sequence[Measured], place: Sequence[str]) -> dict[str, pa.Table]:
    kinds = (*columns(History), *((name, str) for name in PLACE))
    whole = {"traces": of_rows([(*each.history, *place) for each in found], kinds)}
    for name, of in TABLES.items():
        rows = [
            (each.history.run, each.history.trial, *place, each.history.role, each.history.flush, *row)
            for each in found
            for row in each.rows.get(name, ())
        ]
        whole[name] = of_rows(rows, (*BESIDE, *columns(of)))
    return whole


def of_rows(rows: Sequence[tuple[Any, ...]], kinds: Sequence[tuple[str, type]]) -> pa.Table:
    """A table of rows, by the names and types of its columns."""
    values = list(zip(*rows, strict=True)) or [()] * len(kinds)
    arrays = [pa.array(column, ARROW[kind]) for column, (_, kind) in zip(values, kinds, strict=True)]
    return pa.table(arrays, names=[name for name, _ in kinds])


def total(view: pa.Table, each: Measure) -> pa.Table:
    """The sums of a view's columns by its keys, sorted by these."""
    found = view.group_by(list(each.keys)).aggregate([(name, "sum") for name in each.sums])
    found = found.select([*each.keys, *(f"{name}_sum" for name in each.sums)]).rename_columns([*each.keys, *each.sums])
    return found.sort_by([(key, "ascending") for key in each.keys])


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
    """One spread of a view with ``run`` and ``trial``: the frequency (``times``) of each value, which is null where a
    measurement is missing. The first value of a trial counts the trial.
    """
    known = set[tuple[Any, ...]]()
    firsts = []
    for row in zip(*(view[name].to_pylist() for name in (*each.keys, "run", "trial")), strict=True):
        firsts.append(int(row not in known))
        known.add(row)
    counts = {"trials": pa.array(firsts, pa.int64()), "times": pa.repeat(pa.scalar(1, pa.int64()), len(view))}
    sums = {name: pc.fill_null(view[name], 0) for name in each.sums}
    return together(pa.table({name: view[name] for name in (*each.keys, each.value)} | sums | counts), each)


def together(rows: pa.Table, each: Spread) -> pa.Table:
    """Merge the :func:`gathered` rows of several pieces. Up to :data:`EXACT` values are unchanged; more are rounded up,
    so that few differ.

    Any division into pieces gives the same result: a piece with too many values is in a group with too many, and
    rounding is idempotent.
    """
    measure = Measure("", (*each.keys, each.value), ("trials", *each.sums, "times"))
    found = total(rows, measure)
    keys = list(zip(*(found[name].to_pylist() for name in each.keys), strict=True))
    totals = Counter[tuple[Any, ...]]()
    for key, times in zip(keys, found["times"].to_pylist(), strict=True):
        totals[key] += times
    values = [
        value if value is None or totals[key] <= EXACT else rounded_up(value)
        for key, value in zip(keys, found[each.value].to_pylist(), strict=True)
    ]
    return total(found.set_column(len(each.keys), each.value, pa.array(values, pa.int64())), measure)


def spread(rows: pa.Table, each: Spread) -> pa.Table:
    """The spread of :func:`gathered` rows, of one piece or several."""
    width, lines = len(each.keys), []
    merged = zip(*(column.to_pylist() for column in together(rows, each).columns), strict=True)
    for key, group in groupby(merged, lambda row: row[:width]):
        own = list(group)
        sums = [sum(column) for column in list(zip(*own, strict=True))[width + 1 : -1]]
        lines.append((*key, *sums, *_distribution([(row[width], row[-1]) for row in own])))
    return of_rows(lines, [(name, str if name in each.keys else int) for name in each.columns])


def rounded_up(value: int) -> int:
    """To :data:`DIGITS` digits."""
    unit: int = 10 ** max(0, len(str(abs(value))) - DIGITS)
    return -(-value // unit) * unit


def _distribution(values: Sequence[tuple[int | None, int]]) -> tuple[int | None, ...]:
    known = sorted((value, times) for value, times in values if value is not None)
    number, whole = (sum(times for _, times in listed) for listed in (known, values))
    # In integers: the first value that at least so many percent do not exceed.
    wanted = [-(-share * number // 100) for share in PERCENTILES.values()]
    ends = list(accumulate(times for _, times in known))
    shares = [known[bisect_left(ends, least)][0] if known else None for least in wanted]
    return whole, whole - number, *shares
