"""The run folder's tables in Arrow: schemas from :data:`~pairproof.harness.runs.schema.TABLES`, parts, rows.

Only this module and :mod:`.part_size` import pyarrow; import them only for tables.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..judging.verdict import EMPTY
from ..renamed import COLUMNS
from . import locations, part_size
from .schema import TABLES

ARROW = {int: pa.int64(), str: pa.string(), bool: pa.bool_(), dict: pa.map_(pa.string(), pa.string())}

SCHEMAS: dict[str, Any] = {
    table: pa.schema([(name, ARROW[kind]) for name, kind in columns]) for table, columns in TABLES.items()
}

UNREAD = (dict,)
"""Types of columns for other programs, which are not read here."""
READ: dict[str, Any] = {
    table: pa.schema([(name, ARROW[kind]) for name, kind in columns if kind not in UNREAD])
    for table, columns in TABLES.items()
}

BATCH_ROWS = 20_000
TAIL = 8
"""Bytes after a footer: its size, and a magic number."""
MAX_FOOTER_BYTES = 1 << 20

UNREADABLE: tuple[type[Exception], ...] = (pa.ArrowException, OSError, EOFError, ValueError)


def from_columns(table: str, rows: int, columns: Sequence[object]) -> Any:
    """An Arrow table of ``rows`` rows: a column is a sequence of values, or one value for all rows."""
    schema = SCHEMAS[table]
    arrays = [_array(column, field.type, rows) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(column: object, kind: Any, rows: int) -> Any:
    if isinstance(column, (list, tuple)):
        if pa.types.is_map(kind):
            column = [None if row is None else [tuple(map(_encodable, each)) for each in row.items()] for row in column]
        try:
            return pa.array(column, type=kind)
        except UnicodeEncodeError:
            # A target's output may contain any text, even lone surrogates: escape these.
            return pa.array([_encodable(each) for each in column], type=kind)
    return pa.repeat(pa.scalar(column, type=kind), rows)


def _encodable(value: object) -> object:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def part_bytes(table: Any) -> bytes:
    """A part's bytes; its pages have checksums to detect damage."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return bytes(sink.getvalue())


def read_footer(path: Path) -> Any:
    """A part's footer; raises one of :data:`UNREADABLE`."""
    with locations.opened(path, UNREADABLE) as file:
        return _footer(file)


def _footer(file: Any) -> Any:
    if file.seek(0, os.SEEK_END) < TAIL:
        raise ValueError("it has no footer")
    file.seek(-TAIL, os.SEEK_END)
    size = int.from_bytes(file.read(4), "little")
    if size > MAX_FOOTER_BYTES:
        raise ValueError(f"its footer has {size:,} bytes")
    return pq.read_metadata(file)


def batches(path: Path, trials: Iterable[int] | None = None) -> Iterator[Any]:
    """A part's rows as record batches of at most :data:`BATCH_ROWS`, optionally of these trials only.

    The columns are those of the folder's table: unknown ones and those of :data:`UNREAD` are dropped, missing ones are
    null. Raises one of :data:`UNREADABLE`, also for a part that needs more memory than one that a run writes
    (:mod:`pairproof.harness.runs.part_size`).
    """
    wanted = None if trials is None else pa.array(sorted(trials), pa.int64())
    data = locations.read_bytes(path, part_size.MAX_FILE_BYTES)
    footer = _footer(io.BytesIO(data))
    part_size.check(data, footer)
    schema = READ[path.parent.name]
    there = set(footer.schema.to_arrow_schema().names)
    texts = [field.name for field in schema if field.type == pa.string() and field.name in there]
    known = [name for name in schema.names if name in there]
    # A dictionary holds each value once, for any number of rows: the total size is computed first.
    file = pq.ParquetFile(io.BytesIO(data), read_dictionary=texts, page_checksum_verification=True)
    left = part_size.Budget()
    for batch in file.iter_batches(BATCH_ROWS, _groups(footer, wanted), known):
        if wanted is not None:
            batch = batch.filter(pc.is_in(batch["trial"], wanted))
        for name in texts:
            left.spend(batch[name])
        columns = [
            _renamed(name, batch[name].cast(kind)) if name in there else _missing(path, name, len(batch), kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
        found = pa.RecordBatch.from_arrays(columns, schema=schema)
        if path.parent.name == "verdicts" and not _counted_once(found):
            raise ValueError("a row with content stands for one trial, and each row for at least one")
        yield found


def _counted_once(verdicts: Any) -> bool:
    """Whether no row has weight 0 or less, and none but an empty one more than 1: sums of trials are of them."""
    trials = verdicts["trials"]
    may = pc.if_else(pc.is_in(verdicts["verdict"], pa.array(EMPTY)), pc.greater_equal(trials, 1), pc.equal(trials, 1))
    return not verdicts or bool(pc.all(pc.fill_null(may, False)).as_py())


def _missing(path: Path, name: str, rows: int, kind: Any) -> Any:
    """A column that older runs lack: each of their verdicts is of one trial."""
    is_one = (path.parent.name, name) == ("verdicts", "trials")
    return pa.repeat(pa.scalar(1, kind), rows) if is_one else pa.nulls(rows, kind)


def _renamed(name: str, column: Any) -> Any:
    if name not in COLUMNS:
        return column
    old, new = (pa.array(each) for each in zip(*COLUMNS[name].items(), strict=True))
    found = pc.index_in(column, old)
    return column if found.null_count == len(found) else pc.coalesce(new.take(found), column)


def _groups(footer: Any, wanted: Any) -> list[int]:
    groups = range(footer.num_row_groups)
    if wanted is None:
        return list(groups)
    at = footer.schema.names.index("trial")
    statistics = {each: footer.row_group(each).column(at).statistics for each in groups}
    return [
        each for each, found in statistics.items()
        if found is None or not found.has_min_max or any(found.min <= number.as_py() <= found.max for number in wanted)
    ]  # fmt: skip


def read_part(path: Path, trials: Iterable[int] | None = None) -> Any:
    """The batches of :func:`batches` as one table."""
    return pa.Table.from_batches(batches(path, trials), READ[path.parent.name])


def rows(table: Any, first: int = 0) -> Iterator[tuple[Any, ...]]:
    """Rows as tuples, from column ``first`` on. A zip of columns is many times faster than a dict per row."""
    return zip(*(column.to_pylist() for column in table.columns[first:]), strict=True)
