"""What several kinds have in common: whose event it is."""

from __future__ import annotations

from ..history import Event, column


class OfNode(Event):
    """A node did it, or it befell a node, in one of its lives."""

    __slots__ = ()
    node: str
    incarnation: int


class OfReader(Event):
    """Somebody who reads nodes from outside found it at a node."""

    __slots__ = ()
    node: str
    audit: int = column("op")
    """The audit's number."""
