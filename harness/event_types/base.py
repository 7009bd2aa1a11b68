"""Bases of several event types."""

from __future__ import annotations

from ..history import Event, column


class OfNode(Event):
    """An event of a node, in one of its incarnations."""

    node: str
    incarnation: int


class OfReader(Event):
    """An outside reader's finding about a node."""

    node: str
    audit: int = column("op")
    """The audit's number."""
