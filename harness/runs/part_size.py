"""The memory that a part of a table needs, computed before it is unpacked: four kilobytes may unpack to gigabytes.

A part may come from an outside user, so the sizes in its footer are not trusted. Each page header has the page's
unpacked size, and a reader allocates no more; the headers of all pages are read here (Parquet's Thrift, compact
protocol). A value that a dictionary holds once may belong to every row: :class:`Budget` counts rows while they are
still numbers into the dictionary.

A reader has a part's texts several times: in Arrow's table, in a sorted copy, and as Python's objects. So their limit
grows with the rows, like all other memory of a reader. A reader that keeps the rows of several parts has one budget for
all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import pyarrow.compute as pc

MAX_FILE_BYTES = 64 << 20
MAX_ROWS = 2_000_000
MAX_COLUMNS = 100
MAX_PAGES = 20_000
MAX_PAGES_BYTES = 192 << 20
MAX_VALUES_BYTES = 256 << 20
SPARE_BYTES, VALUE_BYTES = 64 << 20, 64
"""The limit of texts: so many bytes, plus so many per value. A normal run's 250,000 events have 25 MB of texts, its
4,000 schedules 5 MB.
"""
MAX_VALUE_BYTES = 4 << 20

I8, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(3, 13)
TRUE, FALSE = 1, 2
MAX_DEPTH = 8


def check(data: bytes, footer: Any) -> None:
    """ValueError if the part ``data`` has more rows, columns or bytes than one that a run writes."""
    if footer.num_rows > MAX_ROWS or footer.num_columns > MAX_COLUMNS:
        raise ValueError(f"it has {footer.num_rows:,} rows of {footer.num_columns} columns")
    groups = [footer.row_group(each) for each in range(footer.num_row_groups)]
    if any(not 0 <= each.num_rows <= MAX_ROWS for each in groups):
        raise ValueError("its rows cannot be counted")
    columns = (each.column(column) for each in groups for column in range(each.num_columns))
    sizes = list(islice(chain.from_iterable(_pages(data, each) for each in columns), MAX_PAGES + 1))
    if len(sizes) > MAX_PAGES:
        raise ValueError(f"it has more than {MAX_PAGES:,} pages")
    if (unpacked := sum(sizes)) > MAX_PAGES_BYTES:
        raise ValueError(f"its {len(data):,} bytes unpack to {unpacked:,}")


class Budget:
    """The limit of the rows in memory at the same time; ValueError if they exceed it."""

    def __init__(self) -> None:
        self._allowed = SPARE_BYTES
        self._taken = 0

    def spend(self, column: Any) -> None:
        """Count a column of texts, which holds dictionaries, before it is unpacked."""
        sizes = pc.binary_length(column.dictionary)
        if (pc.max(sizes).as_py() or 0) > MAX_VALUE_BYTES:
            raise ValueError(f"a value has more than {MAX_VALUE_BYTES:,} bytes")
        self._take(len(column), pc.sum(pc.cast(pc.take(sizes, column.indices), "int64")).as_py() or 0)

    def keep(self, rows: Any) -> None:
        """Count a table that is kept beside earlier ones."""
        self._take(rows.num_rows * rows.num_columns, rows.nbytes)

    def _take(self, values: int, size: int) -> None:
        self._allowed = min(self._allowed + values * VALUE_BYTES, MAX_VALUES_BYTES)
        self._taken += size
        if self._taken > self._allowed:
            raise ValueError(f"its values have more than {self._allowed:,} bytes")


def _pages(data: bytes, column: Any) -> Iterator[int]:
    """The unpacked bytes of each page of a column chunk."""
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    end = at + column.total_compressed_size
    if not 0 < at <= end <= len(data):
        raise ValueError("its columns are not where its footer says")
    while at < end:
        header = _Thrift(data, at)
        fields = header.struct()
        unpacked, packed = fields.get(2), fields.get(3)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or min(unpacked, packed) < 0:
            raise ValueError("a page has no size")
        yield unpacked
        at = header.at + packed


class _Thrift:
    """Reads one structure, of which only numbers matter."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    def struct(self, depth: int = 0) -> dict[int, int | None]:
        """Its fields by number; None for fields that are not numbers."""
        found: dict[int, int | None] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            found[number] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> int | None:
        if kind in (I16, I32, I64):
            return self._number()
        if kind == STRUCT and depth < MAX_DEPTH:
            self.struct(depth + 1)
        elif kind in (BINARY, DOUBLE, I8):
            size = self._varint() if kind == BINARY else 8 if kind == DOUBLE else 1
            self.at += size
        elif kind not in (TRUE, FALSE):
            # Page headers contain no lists and maps.
            raise ValueError("a page's header cannot be read")
        return None

    def _number(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)

    def _varint(self) -> int:
        found = shift = 0
        while shift < 64:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
        raise ValueError("a page's header cannot be read")

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("a page's header is cut")
        self.at += 1
        return self.data[self.at - 1]
