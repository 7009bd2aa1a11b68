"""The run folder's tables as Arrow sees them: schemas from :data:`~pairproof.harness.runs.schema.TABLES`, parts, rows.

The only module of the harness that imports pyarrow; whoever needs no table should not import it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pairproof.harness.runs import places
from pairproof.harness.runs.schema import TABLES

ARROW = {int: pa.int64(), str: pa.string(), bool: pa.bool_(), dict: pa.map_(pa.string(), pa.string())}

SCHEMAS: dict[str, Any] = {
    table: pa.schema([(name, ARROW[kind]) for name, kind in columns]) for table, columns in TABLES.items()
}

UNREADABLE: tuple[type[Exception], ...] = (pa.ArrowException, OSError, EOFError, ValueError)
"""What reading a damaged part may raise."""


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
            # What a target says may be any text, lone surrogates in it: they are kept escaped.
            return pa.array([_encodable(each) for each in column], type=kind)
    return pa.repeat(pa.scalar(column, type=kind), rows)


def _encodable(value: object) -> object:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def write_part(table: Any, path: Path) -> None:
    """Write one part; its pages carry checksums, so that a damaged one is noticed."""
    with open_part(path, "wb") as sink:
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)


@contextlib.contextmanager
def open_part(path: Path, mode: str = "rb") -> Iterator[Any]:
    """What Arrow takes for a part that is read or written."""
    if places.is_remote(path):
        with places.reached(path, UNREADABLE), path.open(mode) as file:
            yield file
    else:
        yield path


def read_footer(path: Path) -> Any:
    """What a part's footer says of it; raises one of :data:`UNREADABLE`."""
    with open_part(path) as file:
        return pq.read_metadata(file)


def read_part(path: Path, trials: Iterable[int] | None = None) -> Any:
    """A part's rows, of these trials only if they are given; raises one of :data:`UNREADABLE`.

    With the columns of the table whose folder it is in: without those that are not known here, and with nulls for those
    that it lacks.
    """
    schema = SCHEMAS[path.parent.name]
    filters = None if trials is None else [("trial", "in", sorted(trials))]
    with open_part(path) as file:
        there = set(pq.read_schema(file).names)
        known = [name for name in schema.names if name in there]
        found = pq.read_table(file, columns=known, filters=filters, page_checksum_verification=True, partitioning=None)
    lacking = [field for field in schema if field.name not in there]
    for field in lacking:
        found = found.append_column(field, pa.nulls(len(found), field.type))
    return found.select(schema.names) if lacking else found


def rows(table: Any, first: int = 0) -> Iterator[tuple[Any, ...]]:
    """Rows as tuples, from column ``first`` on. A zip of columns: many times faster than a dict per row."""
    return zip(*(column.to_pylist() for column in table.columns[first:]), strict=True)
