"""Abilities of RocketMQ's labs only: clients, rogue peers, retention."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..ports import Effect


@runtime_checkable
class CanSend(Protocol):
    """Producers can send to the master."""

    def send(self, producer: int, size: int, wait: bool, queue: int) -> object:
        """Start a send; its outcome is recorded when it ends."""


@runtime_checkable
class CanPull(Protocol):
    """Readers can pull from a broker."""

    def pull(self, reader: int, node: str, queue: int) -> None:
        """Start a pull at this reader's offset; its outcome is recorded when it ends."""


@runtime_checkable
class CanExpire(Protocol):
    """The oldest files of a node's log can be deleted, as by retention."""

    def expire(self, node: str, keep_files: int) -> Effect:
        """Delete all but the last ``keep_files`` files (never the last one)."""


@runtime_checkable
class CanStallDispatch(Protocol):
    """The thread of a node that derives queues and index from the log can be stopped.

    A start dispatches the whole log in any case, and so does an orderly stop.
    """

    def stall_dispatch(self, node: str) -> Any:
        """Stop dispatching; returns a handle."""

    def resume_dispatch(self, handle: Any) -> Effect:
        """Dispatch again; returns how many dispatches were skipped (``dispatches_held``)."""


@runtime_checkable
class CanImpersonate(Protocol):
    """A rogue slave can connect to a port."""

    def impersonate(self, character: str) -> Any:
        """Connect to the master's HA port as ``silent``, ``over-claiming``, ``two-faced`` or ``junk``; returns a
        handle.
        """

    def dismiss(self, handle: Any) -> Effect:
        """Disconnect it; returns its actions and the node's reactions."""


@runtime_checkable
class CanIntrude(Protocol):
    """A rogue client can connect to a node's port for clients."""

    def intrude(self, node: str, port: str, character: str) -> Any:
        """Connect repeatedly to a broker's ``main`` or ``fast`` port, or to the name server's; returns a handle.

        ``silent`` sends nothing, ``junk`` sends random bytes, ``endless`` begins a frame that never ends.
        """

    def expel(self, handle: Any) -> Effect:
        """Disconnect it; returns its actions and the node's reactions."""


@runtime_checkable
class CanImpersonateMaster(Protocol):
    """A rogue master can replace the master at the far end of the HA link."""

    def take_place(self, character: str) -> Any:
        """End the slave's connections, and direct new ones to a rogue master: ``misplaced`` or ``junk``; returns a
        handle.
        """

    def give_back(self, handle: Any) -> Effect:
        """Direct the link to the master again; returns the rogue master's actions."""


@runtime_checkable
class CanConsume(Protocol):
    """Consumers can join and leave: clients of a group that share its queues, in their own processes."""

    def join(self, group: int, consumer: int) -> None:
        """Start it, unless it runs."""

    def leave(self, group: int, consumer: int, lost: bool) -> None:
        """It unregisters and ends, or (``lost``) its process dies; nothing if it does not run."""


@runtime_checkable
class CanFailConsume(Protocol):
    """Consumers can join whose application fails at some messages."""

    def fail_consume(self, consumer: int, every: int, times: int, level: int, most: int) -> None:
        """Start it, unless it runs. See the operation ``fail_consume``; it leaves as other consumers do."""


@runtime_checkable
class CanReset(Protocol):
    """An administrator can reset a group's progress."""

    def reset(self, group: int) -> None:
        """Move a group without members back to the first message of each queue; the outcomes are recorded."""


@runtime_checkable
class CanAdminister(Protocol):
    """An administrator can change a broker's tables; the outcome is recorded when it ends."""

    def change_topic(self, number: int, queues: int, node: str, reads: int, perm: int, used: bool) -> None:
        """Create a topic at ``node``, or change it; for the arguments see the operation ``topic``."""

    def change_group(
        self, group: int, slowly: int, broker: int, node: str, enabled: bool, retry_queues: int, retries: int,
        from_min: bool, broadcasting: bool, notified: bool,
    ) -> None:  # fmt: skip
        """Create a consumer group at ``node``, or change it; for the arguments see the operation ``group``."""


@runtime_checkable
class CanRecreate(Protocol):
    """An administrator can re-create objects at a broker; the outcomes are recorded."""

    def recreate(self, what: str, number: int, steps: int, node: str, used: bool) -> None:
        """Start the first of so many steps for a ``topic`` or a ``group`` of this number at ``node``; ``used``: see
        the operation ``recreate``.
        """


@runtime_checkable
class CanSendTo(Protocol):
    """A producer can send to any broker, also to one that accepts no messages, and can send delayed messages."""

    def send_to(self, producer: str, node: str, size: int, wait: bool, queue: int, level: int = 0) -> None:
        """Start a send to ``node``, with this delay level (0: none); its outcome is recorded when it ends."""


@runtime_checkable
class CanSendOtherwise(Protocol):
    """Producers can send batches and edge-case messages to the master."""

    def send_batch(self, producer: int, count: int, size: int, wait: bool, queue: int) -> None:
        """Start one request with ``count`` messages; each has its own events, and one outcome."""

    def send_edge_case(self, producer: int, what: str, wait: bool, queue: int) -> None:
        """Start an edge-case send; ``what``: see the operation ``edge_case_send``."""


@runtime_checkable
class CanProduce(Protocol):
    """Producers can look routes up, choose queues, retry and send."""

    def produce(self, producer: int, how: str, wait: bool, queue: int) -> None:
        """Start a send; ``how``: see the operation ``produce``. The first one starts the producer."""


@runtime_checkable
class CanTransact(Protocol):
    """Producers can send half messages and end their transactions later."""

    def transact(self, producer: int, queue: int, says: str, ms: int, times: int, level: int) -> None:
        """Start the send of a half message; for the end of its transaction see the operation ``transact``."""


@runtime_checkable
class CanSelect(Protocol):
    """Readers can pull by tags from a broker."""

    def select(self, reader: int, node: str, queue: int, tags: str) -> None:
        """Start a pull at this reader's offset with these tags (``a || b``); its outcome is recorded."""


ABILITIES = (
    CanSend, CanPull, CanSendTo, CanSendOtherwise, CanProduce, CanTransact, CanSelect, CanConsume, CanFailConsume,
    CanReset, CanAdminister, CanRecreate, CanImpersonate, CanIntrude, CanImpersonateMaster,
)  # fmt: skip
"""Abilities of a RocketMQ pair's clients and rogue peers, in every lab."""
