"""A kind of event: which version of the data a Redis node says it has, and what that was."""

from __future__ import annotations

from pairproof import Event


class Version(Event):
    """A Redis node was asked in one transaction for the version of its data, and for the data."""

    __slots__ = ()
    node: str
    message: str
    """Its replication id."""
    value: int
    """Its replication offset."""
    digest: int
    """Of all that it held."""
