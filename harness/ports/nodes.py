"""Abilities of a node: its process, its store, and its machine's power, clock, network, memory and image."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from . import Effect


@runtime_checkable
class CanKill(Protocol):
    """A node's process can be killed and started again; written bytes stay in the page cache."""

    def kill(self, node: str) -> Effect:
        """End the process as kill -9 does."""

    def restart(self, node: str) -> None:
        """Start it again on the same store, unless it runs."""


@runtime_checkable
class CanStop(Protocol):
    """A node's process can be ended in an orderly way, as by SIGTERM, and started again."""

    def stop(self, node: str) -> Effect: ...

    def restart(self, node: str) -> None:
        """Start it again on the same store, unless it runs."""


@runtime_checkable
class CanPause(Protocol):
    """A node's process can be paused (SIGSTOP) and continued; its sockets and its disk stay."""

    def pause(self, node: str) -> Any:
        """Pause it; returns a handle."""

    def resume(self, handle: Any) -> Effect:
        """Continue it with everything that waited."""


@runtime_checkable
class CanPromote(Protocol):
    """An operator can promote a slave to master. Names are roles: the two stores swap, each node keeps its own address
    and settings.
    """

    def promote(self, node: str, rejoin: str) -> Any:
        """Kill the master, stop this slave, and start the master on the slave's store; returns a handle.

        The slave stays down, with the old master's store: emptied (``wiped``) or unchanged (``stale``).
        """

    def take_back(self, handle: Any) -> Effect:
        """Start the slave on it; returns the promotion's effect."""


@runtime_checkable
class CanStartSecond(Protocol):
    """An operator can start a second master of the pair's broker name, at its own address."""

    def start_second(self, node: str, ends: str) -> Any:
        """Stop this slave, and start the master that waits (``lab.others=2``) on the slave's store; returns a handle.
        ``ends``: stop or kill.
        """

    def end_second(self, handle: Any) -> Effect:
        """End the second master, and start the slave on its own store."""


@runtime_checkable
class CanReplaceStore(Protocol):
    """A node's store can be emptied, or replaced by an older image of itself, while its process is down."""

    def wipe_store(self, node: str) -> Effect:
        """End the process as kill -9 does, and empty its store."""

    def restart(self, node: str) -> None:
        """Start it on the current store, unless it runs."""

    def take_image(self, node: str) -> Any:
        """Save the current content of the store; the node continues. Returns a handle."""

    def restore_image(self, handle: Any) -> Effect:
        """End the process, restore the saved store and start the process again."""


@runtime_checkable
class CanCrashMachine(Protocol):
    """A node's machine can lose power: unflushed bytes are lost or torn, and peers get no notice."""

    def restart(self, node: str) -> None:
        """Power it on and start the broker on the disk's content, unless it runs."""

    def crash_machine(self, node: str, keep: str) -> Effect:
        """``keep``: ``none`` of the unflushed bytes, ``all``, ``half``, ``hole`` (a sector lost before the end),
        ``some`` (each sector of each file kept or lost independently), or ``derived`` (the files derived from the log,
        and nothing of the log).
        """


@runtime_checkable
class CanTear(Protocol):
    """A power loss can keep a part of a node's unflushed bytes, since these are known."""

    def reports_flushes(self, node: str) -> bool:
        """Whether this node reports its flushes; without that nothing can be torn."""


@runtime_checkable
class CanScatter(Protocol):
    """A power loss can keep any unflushed sectors of any files of a node."""

    def tracks_dirty_sectors(self, node: str) -> bool:
        """Whether these are known."""


@runtime_checkable
class CanSkewClock(Protocol):
    """A node's wall clock can be set; time intervals are not affected."""

    def skew_clock(self, node: str, ms: int) -> Any:
        """Set its clock ``ms`` ahead of the true time (behind, if negative); returns a handle."""

    def correct_clock(self, handle: Any) -> Effect:
        """Set the true time again."""


@runtime_checkable
class CanDisconnect(Protocol):
    """A node's network cable can be pulled: no packet leaves its machine or arrives there.

    Connections stay open on both sides, and bytes sent over them wait. Attempts to connect to it are not answered and
    time out; those from it do so, too, or fail at once. Its local traffic is not affected.
    """

    def disconnect(self, node: str) -> Any:
        """Pull it; returns a handle."""

    def reconnect(self, handle: Any) -> Effect:
        """Plug it in, unless another disturbance isolates the node: waiting bytes continue, in order.

        The effect counts the held traffic (``bytes_held``, ``connects_unanswered``, ``closes_delayed``); zero without
        any.
        """


@runtime_checkable
class CanLimitMemory(Protocol):
    """A node's memory can be limited while it runs."""

    def limit_memory(self, node: str, mb: int) -> Any:
        """At most ``mb`` MiB from now on; returns a handle. If its process needs more it is killed, which is a
        crash.
        """

    def lift_memory(self, handle: Any) -> Effect:
        """Remove the limit; returns ``processes_killed`` for lack of memory, and ``limits_hit``. Starts nothing."""

    def restart(self, node: str) -> None:
        """Start it again on the same store, unless it runs."""


@runtime_checkable
class CanReplaceImage(Protocol):
    """A node's program can be replaced by another one, on the same store and with the same address."""

    def replace_image(self, node: str, image: str) -> Any:
        """Stop the node in an orderly way and start ``image``; returns a handle.

        ``image``: the name of one of the target's other programs, of one of its images, ``own``, or, in containers, an
        image's full name; UsageError if there is none.
        """

    def keep_image(self, handle: Any) -> Effect:
        """It stays in use; returns the effect."""

    def restore_own_image(self, handle: Any) -> Effect:
        """Stop it in an orderly way and start the node's own program; returns ``images_replaced`` and other effects."""


SCARCE = frozenset((CanLimitMemory, CanReplaceImage, CanStartSecond))
"""Abilities that only container labs, or some targets, have. Searches leave their faults out, so that labs draw nearly
alike; scenarios have them.
"""
