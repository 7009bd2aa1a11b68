"""What nodes and name servers did with their tables."""

from __future__ import annotations

from typing import Literal

from pairproof.harness.history import Event


class Table(Event):
    """One of a node's tables was read."""

    __slots__ = ()
    node: str
    op: int
    """The audit's number."""
    f: Literal["topics", "groups", "offsets", "delays", "brokers"]
    """brokers: a name server's, broker name to id to node."""
    value: int | None
    """The counter of its data version; none for offsets, delays and brokers."""
    lo: int | None
    """The timestamp of its data version."""
    detail: str
    """Its content as JSON with sorted keys; of delays on a slave its file's."""


class Garbled(Event):
    """One of a node's tables cannot be read."""

    __slots__ = ()
    node: str
    op: int
    """The audit's number."""
    f: str
    """As of a table."""
    detail: str
    """What is wrong with it."""


class Sync(Event):
    """A slave did a step of its metadata sync."""

    __slots__ = ()
    node: str
    incarnation: int
    f: Literal["topics", "offsets", "delays", "groups"]
    status: Literal["asked", "same", "applied", "failed"]


class Persist(Event):
    """A node wrote one of its tables to its disk."""

    __slots__ = ()
    node: str
    incarnation: int
    f: Literal["topics", "groups", "offsets", "delays"]


class Register(Event):
    """A broker was answered by a name server, or not."""

    __slots__ = ()
    node: str
    incarnation: int
    status: Literal["ok", "failed"]
    detail: str | None
    """JSON: master, ha: the addresses answered, as nodes; absent where it has none."""
