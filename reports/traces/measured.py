"""All measurements of one history, and the shape of its rows for both engines.

Only :func:`measure` converts events to numbers. Spark applies it to each history of a run folder in parallel, Arrow
sequentially without Java; either then sums the rows (``reports/measures.py``).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from ...harness.history import Event
from .sends import Deployment, Send, deployment, sends


class Difference(NamedTuple):
    """A law with another verdict after rejudging; None where it has no verdict."""

    rank: int
    """0 for a violation that only rejudging shows: these are listed first."""
    law: str
    stored: str | None
    again: str | None
    stored_judged: int | None
    again_judged: int | None


TABLES: Mapping[str, Any] = {
    "sends": Send,
    "differences": Difference,
}

Rows = dict[str, Sequence[tuple[Any, ...]]]


def measure(events: Sequence[Event]) -> tuple[Deployment, Rows]:
    """The deployment, and every table but ``differences``, of one trial's events in ``seq`` order."""
    return deployment(events), {"sends": sends(events)}


@cache
def columns(of: Any) -> tuple[tuple[str, type], ...]:
    """Names and types (str or int) of a named tuple's columns."""
    return tuple((name, _plain(hint)) for name, hint in get_type_hints(of).items())


def _plain(hint: Any) -> type:
    if get_origin(hint) in (Union, UnionType):
        return next(each for each in get_args(hint) if each is not type(None))  # type: ignore[no-any-return]
    return hint  # type: ignore[no-any-return]
