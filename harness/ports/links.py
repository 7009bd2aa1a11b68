"""Abilities of a link between two nodes, or between clients and a node.

Links and nodes of every pair: :data:`pairproof.harness.system.PAIR`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from . import Effect


@runtime_checkable
class CanShapeLink(Protocol):
    """A toxic can be added to one direction (up: towards the server; down: from it) of a link, and removed."""

    def add_toxic(self, link: str, direction: str, toxic: str, attributes: Mapping[str, int]) -> Any:
        """Add one of toxiproxy's toxics after the existing ones, with its attributes; returns a handle.

        ``latency`` (latency, jitter: ms), ``bandwidth`` (rate: KB/s; 0 holds everything), ``slicer`` (average_size,
        size_variation: bytes; delay: microseconds), ``limit_data`` (bytes), ``timeout`` (timeout: ms; 0: none),
        ``reset_peer`` (timeout: ms), ``slow_close`` (delay: ms). It acts on open connections and on new ones.
        """

    def remove_toxic(self, handle: Any) -> Effect:
        """Remove it; returns its effect. Held bytes continue in order; ``timeout`` closes the connection."""


@runtime_checkable
class CanCutLink(Protocol):
    """A link can be cut (connections close orderly, new ones are refused) and its connections reset."""

    def cut_link(self, link: str) -> Any:
        """Cut it; returns a handle."""

    def mend_link(self, handle: Any) -> Effect:
        """Restore it; returns the effect of the cut."""

    def reset_link(self, link: str) -> Effect:
        """End the open connections with RST, both ends at once; bytes in flight are lost."""


@runtime_checkable
class CanSeverLink(Protocol):
    """The connections of a link can be left half-open, as by a firewall that forgets them: one end gets the end of the
    connection, the other does not.
    """

    def sever_link(self, link: str, keeps: str) -> Any:
        """Sever the open connections; new ones work. ``keeps``: the end that does not detect it, ``server`` or
        ``client``; returns a handle.
        """

    def end_severed(self, handle: Any) -> Effect:
        """The undetecting ends receive RST; returns the severed connections and the bytes that were sent over them."""
