"""Abilities of clients of any system: to write named values, and to read everything."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class CanWrite(Protocol):
    """Clients can write to the node that takes writes."""

    def write_one(self, client: int, copies: int) -> None:
        """Start a write with a new name, and request ``copies`` further nodes to have it.

        Its call is recorded with the write's name as ``message``, and with the answer a ``promise`` for each node that
        the answer covers.
        """


@runtime_checkable
class CanRead(Protocol):
    """Clients can read everything on a node."""

    def read_all(self, client: int, node: str) -> None:
        """Start it; its call is recorded, and with the answer ``held`` for each write in it, then ``scanned``."""
