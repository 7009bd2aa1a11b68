"""Abilities that concern a link between two nodes, or between clients and a node.

Links and nodes of every pair: :data:`pairproof.harness.system.PAIR`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from . import Effect


@runtime_checkable
class CanShapeLink(Protocol):
    """A toxic can be put on one direction (up: towards the server; down: from it) of a link, and taken off again."""

    def add_toxic(self, link: str, direction: str, toxic: str, attributes: Mapping[str, int]) -> Any:
        """Add one of toxiproxy's toxics behind those that are there, under its name and with its attributes; a handle.

        ``latency`` (latency, jitter: ms), ``bandwidth`` (rate: KB/s; 0 holds everything), ``slicer`` (average_size,
        size_variation: bytes; delay: microseconds), ``limit_data`` (bytes), ``timeout`` (timeout: ms; 0: none),
        ``reset_peer`` (timeout: ms), ``slow_close`` (delay: ms). It acts on open connections and on new ones.
        """

    def remove_toxic(self, handle: Any) -> Effect:
        """Take it off; what it did. What it held goes on its way in order; ``timeout`` closes the connection."""


@runtime_checkable
class CanCutLink(Protocol):
    """A link can be cut (connections close orderly, new ones are refused) and its connections reset."""

    def cut_link(self, link: str) -> Any:
        """Cut it; a handle."""

    def mend_link(self, handle: Any) -> Effect:
        """Mend it; what the cut did."""

    def reset_link(self, link: str) -> Effect:
        """End the connections that are open now with RST, both ends at once; what was on the way is lost."""


@runtime_checkable
class CanSeverLink(Protocol):
    """The connections of a link can be left half-open, as a firewall does that forgets them: one end is told that its
    connection is over, the other believes that it stands."""

    def sever_link(self, link: str, keeps: str) -> Any:
        """Sever those that are open now; new ones are fine. ``keeps``: which end goes on to believe, ``server`` or
        ``client``; a handle."""

    def end_severed(self, handle: Any) -> Effect:
        """The ends that still believe hear RST; how many connections were severed, what was sent over them."""
