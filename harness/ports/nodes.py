"""Abilities that concern a node: its process, its store, and its machine's power, clock, network, memory and image."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from . import Effect


@runtime_checkable
class CanKill(Protocol):
    """A node's process can be killed and started again; what it had written stays in the page cache."""

    def kill(self, node: str) -> Effect:
        """End the process as kill -9 does."""

    def restart(self, node: str) -> None:
        """Start it again on the same store; nothing if it runs."""


@runtime_checkable
class CanStop(Protocol):
    """A node's process can be ended in an orderly way, as SIGTERM does, and started again."""

    def stop(self, node: str) -> Effect:
        """End it."""

    def restart(self, node: str) -> None:
        """Start it again on the same store; nothing if it runs."""


@runtime_checkable
class CanPause(Protocol):
    """A node's process can be stopped in its tracks (SIGSTOP) and go on; its sockets and its disk live on meanwhile."""

    def pause(self, node: str) -> Any:
        """It does nothing from here on; a handle."""

    def resume(self, handle: Any) -> Effect:
        """It goes on with whatever waited for it."""


@runtime_checkable
class CanPromote(Protocol):
    """An operator can make a slave the master. Names are roles: the two stores change places, each node keeps its own
    address and settings.
    """

    def promote(self, node: str, rejoin: str) -> Any:
        """Kill the master, stop this slave, and start the master on what was the slave's store; a handle.

        The slave stays down, with the old master's store: emptied (``wiped``) or as it is (``stale``).
        """

    def take_back(self, handle: Any) -> Effect:
        """Start the slave on it; what the promotion did."""


@runtime_checkable
class CanReplaceStore(Protocol):
    """A node's store can be emptied, or replaced by an older image of itself; its process is down meanwhile."""

    def wipe_store(self, node: str) -> Effect:
        """End the process as kill -9 does, and empty its store."""

    def restart(self, node: str) -> None:
        """Start it on the store that is there now; nothing if it runs."""

    def take_image(self, node: str) -> Any:
        """Remember what the store holds now; the node goes on. A handle."""

    def restore_image(self, handle: Any) -> Effect:
        """End the process, put the remembered store in place and start it again."""


@runtime_checkable
class CanCrashMachine(Protocol):
    """A node's machine can lose power: unflushed bytes are lost or torn, peers hear nothing."""

    def restart(self, node: str) -> None:
        """Power it on and start the broker on what the disk kept; nothing if it runs."""

    def crash_machine(self, node: str, keep: str) -> Effect:
        """``keep``: ``none`` of the unflushed bytes, ``all``, ``half``, ``hole`` (a sector lost before the end),
        ``some`` (each sector of each file kept or lost on its own), or ``derived`` (what is derived from the log, and
        nothing of the log)."""


@runtime_checkable
class CanTear(Protocol):
    """A power loss can keep a part of what a node has not flushed, since it is known which bytes those are."""

    def tells_flushes(self, node: str) -> bool:
        """Whether this node says what it has flushed; of another nothing can be torn."""


@runtime_checkable
class CanScatter(Protocol):
    """A power loss can keep any sectors of any files that a node has not flushed."""

    def knows_dirty_sectors(self, node: str) -> bool:
        """Whether it is known which these are."""


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
    """A node's program can be replaced by another one, on the same store and with the same address."""

    def replace_image(self, node: str, image: str) -> Any:
        """Stop the node in an orderly way and start ``image``; a handle.

        ``image``: the name of one of the target's other programs, of one of its images, ``own``, or, in containers, an
        image's full name; UsageError if there is none.
        """

    def keep_image(self, handle: Any) -> Effect:
        """It stays in place; what it did."""

    def restore_own_image(self, handle: Any) -> Effect:
        """Stop that one in an orderly way and start the node's own program; ``images_replaced`` and what else it
        did."""


SCARCE = frozenset((CanLimitMemory, CanReplaceImage))
"""Abilities that only labs of containers, or some targets, have. Searches leave their faults out, so that labs draw
nearly alike; scenarios have them."""
