"""Abilities that only a lab of RocketMQ's has: clients, strangers, retention."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..ports import Effect


@runtime_checkable
class CanSend(Protocol):
    """Producers can send to the master."""

    def send(self, producer: int, size: int, wait: bool, queue: int) -> object:
        """Start a send; its outcome is recorded when it comes."""


@runtime_checkable
class CanPull(Protocol):
    """Readers can pull from a broker."""

    def pull(self, reader: int, node: str, queue: int) -> None:
        """Start a pull from where this reader stands; its outcome is recorded when it comes."""


@runtime_checkable
class CanExpire(Protocol):
    """The oldest files of a node's log can be deleted, as retention does."""

    def expire(self, node: str, keep_files: int) -> Effect:
        """Delete all but the last ``keep_files`` files (never the last one)."""


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
class CanImpersonate(Protocol):
    """Something that is no broker can connect to a port."""

    def impersonate(self, character: str) -> Any:
        """Connect to the master's HA port as ``silent``, ``over-claiming``, ``two-faced`` or ``junk``; a handle."""

    def dismiss(self, handle: Any) -> Effect:
        """Let it go; what it did and how it was treated."""


@runtime_checkable
class CanIntrude(Protocol):
    """Something that is no client can connect to a node's port for clients."""

    def intrude(self, node: str, port: str, character: str) -> Any:
        """Connect to a broker's ``main`` or ``fast`` port, or to the name server's, again and again; a handle.

        ``silent`` says nothing, ``junk`` sends random bytes, ``endless`` begins a frame that never ends.
        """

    def expel(self, handle: Any) -> Effect:
        """Let it go; what it did and how it was treated."""


@runtime_checkable
class CanImpersonateMaster(Protocol):
    """Something that is no broker can take the master's place at the far end of the HA link."""

    def take_place(self, character: str) -> Any:
        """The slave's connections end, and new ones reach an impostor: ``misplaced`` or ``junk``; a handle."""

    def give_back(self, handle: Any) -> Effect:
        """The link leads to the master again; what the impostor did."""


@runtime_checkable
class CanConsume(Protocol):
    """Consumers can come and go: clients of a group that share its queues, in processes of their own."""

    def join(self, group: int, consumer: int) -> None:
        """Start it; nothing if it runs."""

    def leave(self, group: int, consumer: int, lost: bool) -> None:
        """It says goodbye and ends, or (``lost``) its process dies; nothing if it does not run."""


@runtime_checkable
class CanFailConsume(Protocol):
    """Consumers can come whose application fails at some messages."""

    def fail_consume(self, consumer: int, every: int, times: int, level: int, most: int) -> None:
        """Start it; nothing if it runs. See the operation ``fail_consume``; it goes as other consumers do."""


@runtime_checkable
class CanAdminister(Protocol):
    """An administrator can change a broker's tables; the outcome is recorded when it comes."""

    def change_topic(self, number: int, queues: int, node: str) -> None:
        """Create a topic of this number at ``node``, or give it another number of queues."""

    def change_group(self, group: int, slowly: int, broker: int, node: str) -> None:
        """Create a consumer group at ``node``, or change its whichBrokerWhenConsumeSlowly and brokerId."""


@runtime_checkable
class CanRecreate(Protocol):
    """An administrator can make, delete and make again at a broker what nobody uses; the outcomes are recorded."""

    def recreate(self, what: str, number: int, steps: int, node: str) -> None:
        """Start the first of so many steps for a ``topic`` or a ``group`` of this number at ``node``."""


@runtime_checkable
class CanSendTo(Protocol):
    """A producer can send to whatever broker, also to one that takes no messages, and messages to be held back."""

    def send_to(self, producer: str, node: str, size: int, wait: bool, queue: int, level: int = 0) -> None:
        """Start a send to ``node``, with this delay level (0: none); its outcome is recorded when it comes."""


@runtime_checkable
class CanSendOtherwise(Protocol):
    """Producers can send to the master what few of them send."""

    def send_batch(self, producer: int, count: int, size: int, wait: bool, queue: int) -> None:
        """Start one request with ``count`` messages; each has its own events, and one outcome."""

    def send_edge_case(self, producer: int, what: str, wait: bool, queue: int) -> None:
        """Start a send that is special; ``what``: see the operation ``edge_case``."""


@runtime_checkable
class CanProduce(Protocol):
    """Producers can come that look routes up, choose queues and try again, and they can send."""

    def produce(self, producer: int, how: str, wait: bool, queue: int) -> None:
        """Start a send; ``how``: see the operation ``produce``. A producer comes with its first."""


@runtime_checkable
class CanTransact(Protocol):
    """Producers can send half messages, and decide about them later."""

    def transact(self, producer: int, queue: int, says: str, ms: int, times: int) -> None:
        """Start the send of a half message; what ends its transaction: see the operation ``transact``."""


@runtime_checkable
class CanSelect(Protocol):
    """Readers can pull by tags from a broker."""

    def select(self, reader: int, node: str, queue: int, tags: str) -> None:
        """Start a pull from where this reader stands with these tags (``a || b``); its outcome is recorded."""


ABILITIES = (
    CanSend, CanPull, CanSendTo, CanSendOtherwise, CanSelect, CanConsume, CanAdminister, CanRecreate, CanImpersonate,
    CanIntrude, CanImpersonateMaster,
)  # fmt: skip
"""Those of a RocketMQ pair's clients and strangers, in every lab."""
SIMULATED = (CanProduce, CanFailConsume, CanTransact)
"""What they can do besides in a simulated trial."""
