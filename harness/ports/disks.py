"""Abilities that concern the disk on which a node's store lies."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from . import Effect


@runtime_checkable
class CanStallDisk(Protocol):
    """A node's flushes can be held back."""

    def stall_disk(self, node: str) -> Any:
        """Flushes no longer end; a handle."""

    def resume_disk(self, handle: Any) -> Effect:
        """The held flushes end now; what was held."""


@runtime_checkable
class CanSlowDisk(Protocol):
    """A node's flushes can be made slow."""

    def slow_disk(self, node: str, ms: int) -> Any:
        """Every flush takes ``ms`` longer; a handle."""

    def restore_disk(self, handle: Any) -> Effect:
        """Flushes are as fast as before; what was delayed."""


@runtime_checkable
class CanLieAboutFlushes(Protocol):
    """A node's disk can call durable what it only caches."""

    def lie_about_flushes(self, node: str) -> Any:
        """Flushes end as if they had worked; a handle."""

    def flush_honestly(self, handle: Any) -> Effect:
        """Flushes that begin from now on are true again; what the lies were about."""


@runtime_checkable
class CanFillDisk(Protocol):
    """A node's disk can be full: what is there can be overwritten, nothing new fits."""

    def fill_disk(self, node: str) -> Any:
        """No file can be created or grow; a handle."""

    def free_disk(self, handle: Any) -> Effect:
        """There is room again; how often there was none."""


@runtime_checkable
class CanTurnReadOnly(Protocol):
    """A node's disk can stop taking writes, as a file system does after an error; its process may find out only later.

    Nothing more becomes durable, no file can be created, and no process can start on it.
    """

    def turn_read_only(self, node: str) -> Any:
        """Writes fail from here on; a handle."""

    def turn_writable(self, handle: Any) -> Effect:
        """Reboot the machine, which loses what had not become durable, and start the broker; what the disk refused."""
