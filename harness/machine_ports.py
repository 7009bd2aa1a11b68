"""Abilities of a lab that concern a node's machine: its power, disk, clock, network, memory and the image that it runs;
and one that concerns a single thread of the node.

They are a part of :mod:`pairproof.harness.ports`, from where everybody takes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

Effect = Mapping[str, int]
"""What a fault did, in counts and bytes: ``bytes_held``, ``bytes_lost``, ``connections_closed``, ... All zero: it never
bit."""


@runtime_checkable
class CanCrashMachine(Protocol):
    """A node's machine can lose power: unflushed bytes are lost or torn, peers hear nothing."""

    def restart(self, node: str) -> None:
        """Power it on and start the broker on what the disk kept; nothing if it runs."""

    def crash_machine(self, node: str, keep: str) -> Effect:
        """``keep``: ``none`` of the unflushed bytes, ``all``, ``half``, or ``hole`` (a sector lost before the end)."""


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
class CanStallDispatch(Protocol):
    """The thread of a node that derives queues and index from the log can be kept from running.

    A start dispatches all that its log holds, whether or not, and so does an orderly stop.
    """

    def stall_dispatch(self, node: str) -> Any:
        """What enters the log enters no queue; a handle."""

    def resume_dispatch(self, handle: Any) -> Effect:
        """It catches up; how often it was to run meanwhile and did not (``dispatches_held``)."""


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


@runtime_checkable
class CanSkewClock(Protocol):
    """A node's wall clock can be set; time intervals are not concerned."""

    def skew_clock(self, node: str, ms: int) -> Any:
        """Its clock is ``ms`` ahead of the true time (behind, if negative); a handle."""

    def correct_clock(self, handle: Any) -> Effect:
        """It tells the true time again."""


@runtime_checkable
class CanDisconnect(Protocol):
    """A node's network cable can be pulled: no packet leaves its machine or arrives there.

    Connections stay on both sides, and what is sent over them waits; attempts to connect to it are not answered, and
    fail at their own time limit; those from it do so, too, or fail at once. Its local traffic is not concerned.
    """

    def disconnect(self, node: str) -> Any:
        """Pull it; a handle."""

    def reconnect(self, handle: Any) -> Effect:
        """Plug it in, unless another trouble keeps it out: what waited goes on its way, in order.

        The effect counts what was kept (``bytes_held``, ``connects_unanswered``, ``closes_delayed``), and nothing if
        nobody missed the network.
        """


@runtime_checkable
class CanLimitMemory(Protocol):
    """A node's memory can be limited while it runs."""

    def limit_memory(self, node: str, mb: int) -> Any:
        """No more than ``mb`` MiB from now on; a handle. If it needs more its process is killed, which is a crash."""

    def lift_memory(self, handle: Any) -> Effect:
        """As much as before; ``processes_killed`` for want of memory, ``limits_hit``. Starts nothing."""

    def restart(self, node: str) -> None:
        """Start it again on the same store; nothing if it runs."""


@runtime_checkable
class CanReplaceImage(Protocol):
    """A node's program can be replaced by that of another image, on the same store and with the same address."""

    def replace_image(self, node: str, image: str) -> Any:
        """Stop the node in an orderly way and start one of ``image``; a handle.

        ``image``: a name from the target's list of images, or an image's full name; UsageError if there is none.
        """

    def restore_own_image(self, handle: Any) -> Effect:
        """Stop that one in an orderly way and start one of the node's own image; ``images_replaced`` and what else it
        did."""


SCARCE = frozenset((CanLimitMemory, CanReplaceImage))
"""Abilities that only labs of containers have. Searches leave their faults out, so that labs draw nearly alike;
scenarios have them."""
