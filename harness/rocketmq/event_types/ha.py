"""Replication links."""

from __future__ import annotations

from typing import Literal

from ...event_types.base import OfNode
from ...event_types.text import The, amount, count, span
from ...history import Event, column

Side = Literal["m", "s"]


class OfLink(Event):
    """It was recorded at one end of a connection."""

    link: str
    side: Side
    node: str


class Connect(OfLink):
    """An HA connection opened at one end."""

    node: str
    """The node at that end."""
    f: str
    """The link's slave, or rogue_slave."""

    def words(self, the: The) -> str:
        return f"connection {self.link} opened at the {_end(self)} end by {_peer(self, the)}"


class Close(OfLink):
    """An HA connection ended at one end."""

    f: Literal["local", "peer", "reset"]
    unfinished: int | None = column("value")
    """Bytes of an unfinished frame or report that had left, or reached, this end."""

    def words(self, the: The) -> str:
        return f"connection {self.link} closed at the {_end(self)} end ({_CLOSED.get(self.f, self.f)})"


class Report(OfLink):
    """An 8-byte report left the slave (side s) or reached the master (side m)."""

    offset: int = column("hi")

    def words(self, the: The) -> str:
        master = self.side == "m"
        seen = f"reached the master on {self.link}" if master else f"left {_peer(self, the)} on {self.link}"
        return f"a report of offset {count(self.offset)} {seen}"


class Frame(OfLink):
    """A whole HA frame left the master (side m) or reached the slave (side s); ``lo`` = ``hi`` for a heartbeat."""

    lo: int
    hi: int
    digest: int | None

    def words(self, the: The) -> str:
        master = self.side == "m"
        seen = f"left the master on {self.link}" if master else f"reached {_peer(self, the)} on {self.link}"
        if self.lo == self.hi:
            return f"a heartbeat for offset {count(self.lo)} {seen}"
        return f"a frame {span(self)} {seen}"


class Partial(OfLink):
    """Bytes passed one end of an HA connection and left a frame or a report unfinished, or the connection accepted no
    more.
    """

    f: Literal["out", "in"]
    size: int = column("value")
    """Its bytes so far."""
    announced: int | None = column("lo")
    """The offset in its header, if known."""
    detail: str | None
    """broken: ..., if the stream no longer consists of frames."""

    def words(self, the: The) -> str:
        what = "a report" if (self.side == "m") == (self.f == "in") else "a frame"
        at = f" for offset {count(self.announced)}" if self.announced is not None else ""
        done = "left" if self.f == "out" else "reached"
        return f"only {amount(self.size)} of {what}{at} {done} the {_end(self)} end of {self.link} so far"


class Diverged(OfNode):
    """The master refuses a slave that is ahead of it, and reports so."""

    link: str | None
    reported: int = column("hi")
    """The refused report."""
    master_end: int = column("value")
    """The master's log end."""
    detail: str | None

    def words(self, the: The) -> str:
        ends = f"its own log ends at {count(self.master_end)}"
        return f"the master refuses {self.link}: reported {count(self.reported)}, {ends}"


_CLOSED = {"local": "by itself", "peer": "by its peer", "reset": "reset"}


def _peer(event: Event, the: The) -> str:
    """The node at the far end of an HA connection."""
    if "rogue_slave" in (event.node, event.f):
        return "the rogue slave"
    return the("slave" if event.node in (None, "master") else event.node)


def _end(event: Event) -> str:
    return "master's" if event.side == "m" else "slave's"
