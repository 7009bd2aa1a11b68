"""An event type: the version that a Redis node reports of its data, and the data."""

from __future__ import annotations

from pairproof import Event


class Version(Event):
    """A Redis node was queried in one transaction for the version of its data, and for the data."""

    __slots__ = ()
    node: str
    message: str
    """Its replication id."""
    value: int
    """Its replication offset."""
    digest: int
    """Of all its data."""
