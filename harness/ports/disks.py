"""Abilities of the disk of a node's store."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from . import Effect


@runtime_checkable
class CanStallDisk(Protocol):
    """A node's flushes can be stalled."""

    def stall_disk(self, node: str) -> Any:
        """Flushes no longer end; returns a handle."""

    def resume_disk(self, handle: Any) -> Effect:
        """The stalled flushes end now; returns their numbers."""


@runtime_checkable
class CanSlowDisk(Protocol):
    """A node's flushes can be slowed."""

    def slow_disk(self, node: str, ms: int) -> Any:
        """Every flush takes ``ms`` longer; returns a handle."""

    def restore_disk(self, handle: Any) -> Effect:
        """Flushes are as fast as before; returns the delayed ones."""


@runtime_checkable
class CanLieAboutFlushes(Protocol):
    """A node's disk can report cached bytes as durable."""

    def lie_about_flushes(self, node: str) -> Any:
        """Flushes end as if they had worked; returns a handle."""

    def flush_honestly(self, handle: Any) -> Effect:
        """Later flushes work again; returns the amount of the false reports."""


@runtime_checkable
class CanFillDisk(Protocol):
    """A node's disk can be full: existing bytes can be overwritten, but nothing new fits."""

    def fill_disk(self, node: str) -> Any:
        """No file can be created or grow; returns a handle."""

    def free_disk(self, handle: Any) -> Effect:
        """There is space again; returns how often there was none."""


@runtime_checkable
class CanFillPartly(Protocol):
    """A node's disk can lack room for some files only."""

    def fill_part(self, node: str, files: str) -> Any:
        """``but_log``: only the commit log has room; ``queues``: all but queues and index has. Returns a handle for
        :meth:`CanFillDisk.free_disk`.
        """


@runtime_checkable
class CanTurnReadOnly(Protocol):
    """A node's disk can refuse writes, as a file system does after an error; its process may detect that only later.

    Nothing more becomes durable, no file can be created, and no process can start on it.
    """

    def turn_read_only(self, node: str) -> Any:
        """Writes fail from now on; returns a handle."""

    def turn_writable(self, handle: Any) -> Effect:
        """Reboot the machine, which loses bytes that were not durable, and start the broker; returns the refused
        writes.
        """
