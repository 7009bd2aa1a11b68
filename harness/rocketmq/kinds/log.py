"""What nodes did with their logs, and what readers of their stores found there."""

from __future__ import annotations

from typing import Literal

from pairproof.harness.history import Event


class Cut(Event):
    """Recovery ended the log earlier than it had been."""

    __slots__ = ()
    node: str
    incarnation: int
    lo: int
    """The new end."""
    hi: int
    """The old end."""


class Expire(Event):
    """The oldest files of a node's log were deleted."""

    __slots__ = ()
    node: str
    incarnation: int
    lo: int
    """The log's new start."""


class Append(Event):
    """Bytes entered a node's log."""

    __slots__ = ()
    node: str
    incarnation: int
    lo: int
    hi: int
    digest: int
    f: Literal["put", "filler", "replicate"]
    message: str | None


class Flush(Event):
    """A node's log became durable."""

    __slots__ = ()
    node: str
    incarnation: int
    hi: int
    """Up to where."""


class Dispatch(Event):
    """A node derived its queues from more of its log."""

    __slots__ = ()
    node: str
    incarnation: int
    hi: int
    """Up to where."""


class Source(Event):
    """A store reader's digest of the master's log over a range that a frame just carried."""

    __slots__ = ()
    node: str
    link: str
    lo: int
    hi: int
    digest: int


class Entries(Event):
    """A store reader read a consume queue."""

    __slots__ = ()
    node: str
    op: int
    """The audit's number."""
    queue: str
    lo: int
    """The first logical offset."""
    hi: int
    """The next logical offset."""
    queue_offset: int
    """From where on both nodes that are compared hold entries."""
    digest: int
    """Of the entries over the range that both nodes hold."""
    value: int
    """The log offset behind its last message."""


class Keys(Event):
    """A store reader asked a key index."""

    __slots__ = ()
    node: str
    op: int
    """The audit's number."""
    message: str
    """The key."""
    digest: int
    """Of the log offsets found within the range that both nodes hold."""


class Record(Event):
    """A store reader found a record."""

    __slots__ = ()
    node: str
    op: int
    """The audit's number."""
    lo: int
    hi: int
    message: str | None
    queue: str
    queue_offset: int
    digest: int
    value: int
    """Its store timestamp, ms."""
    detail: str
    """JSON: body (its digest), flag, tags, and the real queue that its properties name."""


class Chunk(Event):
    """A store reader's digest over the grid."""

    __slots__ = ()
    node: str
    op: int
    """The audit's number."""
    lo: int
    hi: int
    digest: int


class Audit(Event):
    """A store reader is done."""

    __slots__ = ()
    node: str
    incarnation: int
    op: int
    """Its number."""
    f: Literal["recovery", "final", "compare"]
    """compare: chunks only."""
    lo: int
    hi: int
    """The log's range."""
    status: Literal["whole", "broken"]
    value: int
    """Where it stops being whole."""
    detail: str | None
    """Why."""
