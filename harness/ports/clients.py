"""Abilities of clients of any system: to write something that has a name, and to read all that is there."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class CanWrite(Protocol):
    """Clients can write to the node that takes writes."""

    def write_one(self, client: int, copies: int) -> None:
        """Start a write with a name of its own, and ask that ``copies`` other nodes have it, too.

        Its call is recorded with the write's name as ``message``, and when the answer comes a ``promise`` for each node
        that the answer vouches for.
        """


@runtime_checkable
class CanRead(Protocol):
    """Clients can read all that a node holds."""

    def read_all(self, client: int, node: str) -> None:
        """Start it; its call is recorded, and when the answer comes ``held`` for each write in it, then ``looked``."""
