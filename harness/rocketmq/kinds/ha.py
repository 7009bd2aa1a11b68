"""What was seen on the replication links."""

from __future__ import annotations

from typing import Literal

from pairproof.harness.history import Event

Side = Literal["m", "s"]


class Connect(Event):
    """An HA connection opened at one end."""

    __slots__ = ()
    link: str
    side: Side
    node: str
    """Who that end is."""
    f: str
    """Whom the link leads to: a slave, or hostile."""


class Close(Event):
    """An HA connection ended at one end."""

    __slots__ = ()
    link: str
    side: Side
    node: str
    f: Literal["local", "peer", "reset"]
    value: int | None
    """Bytes of an unfinished frame or report that had left, or reached, this end."""


class Report(Event):
    """An 8-byte report left the slave (side s) or reached the master (side m)."""

    __slots__ = ()
    link: str
    side: Side
    node: str
    hi: int
    """The offset that it reports."""


class Frame(Event):
    """A whole HA frame left the master (side m) or reached the slave (side s); ``lo`` = ``hi`` for a heartbeat."""

    __slots__ = ()
    link: str
    side: Side
    node: str
    lo: int
    hi: int
    digest: int | None


class Partial(Event):
    """Bytes passed one end of an HA connection and left a frame or a report unfinished, or the connection took no
    more."""

    __slots__ = ()
    link: str
    side: Side
    node: str
    f: Literal["out", "in"]
    value: int
    """Bytes of it so far."""
    lo: int | None
    """The offset that its header names, if known."""
    detail: str | None
    """broken: ..., where the stream stops being frames."""


class Diverged(Event):
    """The master refuses a slave that is ahead of it, and says so."""

    __slots__ = ()
    node: str
    incarnation: int
    link: str | None
    hi: int
    """The refused report."""
    value: int
    """The master's end."""
    detail: str | None
