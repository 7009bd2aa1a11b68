"""History rows of a table, back as :class:`~pairproof.harness.history.Event` tuples, and in words."""

from collections.abc import Iterator

import pyarrow as pa

from ..harness.history import FIELDS, Event, kinds
from ..harness.rocketmq.naming import the

COLUMNS = tuple(each.name for each in FIELDS)
_KIND = COLUMNS.index("kind")


def events_of(rows: pa.Table | pa.RecordBatch) -> Iterator[Event]:
    """The events of history rows, in the order of the rows. One of a kind that is not registered is a plain event."""
    known, make = dict(kinds()), tuple.__new__
    # Whole columns zipped: a dictionary for each row would cost an order of magnitude more.
    for row in zip(*(rows.column(name).to_pylist() for name in COLUMNS), strict=True):
        yield make(known.get(row[_KIND], Event), row)


def words(event: Event) -> str:
    """What happened, as a sentence for somebody who does not know the history's columns."""
    return event.words(the)
