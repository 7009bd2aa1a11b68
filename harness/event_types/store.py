"""Promised writes and what readers found, in systems whose writes have names."""

from __future__ import annotations

from typing import Literal

from ..history import Event, column
from .text import The

KINDS = frozenset({"promise", "held", "scanned"})
"""Event types of a driver that uses the laws for any system. RocketMQ's labs record none of them: their readers see
bytes, and RocketMQ's own laws judge PUT_OK.
"""


_ENDS = {"stop": "an orderly stop", "process": "a kill", "machine": "a power loss"}


class Promise(Event):
    """A client got the promise that a node has its write; one event for each node."""

    process: int
    op: int
    """The write's call."""
    node: str
    """The called node, or a copy that the answer covers."""
    message: str
    """The write's name; each write stores one thing."""
    survives: Literal["stop", "process", "machine"] | None = column("status")
    """The worst end of the node that it survives, as the system documents it for its settings: an orderly stop, a kill,
    a power loss; none: not even a stop.
    """

    def words(self, the: The) -> str:
        through = f", through {_ENDS[self.survives]}" if self.survives in _ENDS else ""
        return f"client {self.process} may count on {the(self.node)} for {self.message}{through}"


class Held(Event):
    """A reader found a write at a node."""

    node: str
    reading: int = column("op")
    """A client's call, or an audit's number."""
    message: str
    place: int | None = column("queue_offset")
    """Its position, if the store has an order."""

    def words(self, the: The) -> str:
        where = "" if self.place is None else f" at place {self.place}"
        return f"{the(self.node)} holds {self.message}{where}"


class Scanned(Event):
    """A reader has read everything on a node."""

    node: str
    reading: int = column("op")
    """The reading; one of several nodes has one number."""
    f: Literal["read", "recovery", "final"]
    """Read: a client's call; recovery: the lab's audit at a start of the node; final: the one after the trial."""
    role: Literal["source", "copy"] = column("status")
    """Whether clients write to the node, or it follows such a node."""

    def words(self, the: The) -> str:
        return f"all that {the(self.node)} holds was read"
