"""What the harness asks of labs, targets, faults and laws: small protocols, abilities apart.

A lab opens a :class:`Session` for one trial. Faults are written once against the ``Can…`` abilities; a session has the
abilities that its lab offers, and a fault whose ability is missing is skipped with that reason, never passed. So is one
whose ability raises :class:`pairproof.harness.errors.Unable`, since this machine does not let the lab do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from pairproof.harness.history import Recorder
from pairproof.harness.machine_ports import SCARCE as SCARCE
from pairproof.harness.machine_ports import CanCrashMachine as CanCrashMachine
from pairproof.harness.machine_ports import CanDisconnect as CanDisconnect
from pairproof.harness.machine_ports import CanFillDisk as CanFillDisk
from pairproof.harness.machine_ports import CanLieAboutFlushes as CanLieAboutFlushes
from pairproof.harness.machine_ports import CanLimitMemory as CanLimitMemory
from pairproof.harness.machine_ports import CanReplaceImage as CanReplaceImage
from pairproof.harness.machine_ports import CanSkewClock as CanSkewClock
from pairproof.harness.machine_ports import CanSlowDisk as CanSlowDisk
from pairproof.harness.machine_ports import CanStallDisk as CanStallDisk
from pairproof.harness.machine_ports import CanStallDispatch as CanStallDispatch
from pairproof.harness.machine_ports import CanTurnReadOnly as CanTurnReadOnly
from pairproof.harness.machine_ports import Effect as Effect
from pairproof.harness.schedule import Args


class Session(Protocol):
    """One trial's system under test, from its first start to its last audit."""

    recorder: Recorder

    def send(self, producer: int, size: int, wait: bool, queue: int) -> None:
        """Start a send; its outcome is recorded when it comes."""

    def pull(self, reader: int, node: str, queue: int) -> None:
        """Start a pull from where this reader stands; its outcome is recorded when it comes."""

    def advance(self, ms: int) -> None:
        """Let time pass."""

    def now(self) -> int:
        """The trial's time, ns."""

    def warm_up(self) -> None:
        """Bring the pair up: link established, one message stored and replicated. Records mark ``warm``."""

    def settle(self) -> None:
        """After every fault has ended: run until master and slave agree or the bound passes, then audit both.

        Records mark ``converged`` or ``unsettled``, the final audits, and mark ``end``.
        """

    def close(self) -> None:
        """Give everything back. May be called at any moment, twice too."""


class Target(Protocol):
    """What is tested."""

    @property
    def name(self) -> str:
        """As registered, with ``+mutant`` where one is set."""

    def settings(self, schedule: Args) -> Args:
        """The schedule's settings completed by the target's own defaults; UsageError for unknown keys."""


class Lab(Protocol):
    """Where it runs."""

    name: str
    deterministic: bool
    """Whether the same arguments give the same history. If not, the lab runs in real time, and schedules are paced."""

    def observes(self, target: Target) -> frozenset[str]:
        """Kinds of event that this lab can record for this target; a law that needs others is not observable."""

    def open(self, target: Target, settings: Args, seed: str) -> Session:
        """A new trial."""


@runtime_checkable
class CanStep(Protocol):
    """Time can pass by events."""

    def step(self, events: int, within_ms: int = 1_000) -> int:
        """Let up to ``events`` events happen, none later than ``within_ms`` from now; how many did."""


@runtime_checkable
class CanAwait(Protocol):
    """Time can pass until something has happened often enough."""

    def wait_for(self, what: str, count: int, ms: int) -> int:
        """Let time pass until ``count`` more of ``what`` happen, or ``ms`` are over; how many did.

        See :mod:`pairproof.harness.rocketmq.awaiting`.
        """


@runtime_checkable
class CanArm(Protocol):
    """Something can be made to happen at a node's n-th append, flush, send or receive."""

    def arm(self, node: str, point: str, nth: int, fire: Callable[[], None]) -> None:
        """Call ``fire`` once, when ``node`` passes ``point`` for the nth time from now."""

    def disarm(self) -> None:
        """Forget every trigger that has not fired."""


@runtime_checkable
class CanShapeLink(Protocol):
    """A toxic can be put on one direction (up: towards the server; down: from it) of a link, and taken off again.

    Links and nodes: see :mod:`pairproof.harness.rocketmq.places`.
    """

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
class CanPause(Protocol):
    """A node's process can be stopped in its tracks (SIGSTOP) and go on; its sockets and its disk live on meanwhile."""

    def pause(self, node: str) -> Any:
        """It does nothing from here on; a handle."""

    def resume(self, handle: Any) -> Effect:
        """It goes on with whatever waited for it."""


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
class CanExpire(Protocol):
    """The oldest files of a node's log can be deleted, as retention does."""

    def expire(self, node: str, keep_files: int) -> Effect:
        """Delete all but the last ``keep_files`` files (never the last one)."""


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
class CanAdminister(Protocol):
    """An administrator can change a broker's tables; the outcome is recorded when it comes."""

    def change_topic(self, number: int, queues: int, node: str) -> None:
        """Create a topic of this number at ``node``, or give it another number of queues."""

    def change_group(self, group: int, slowly: int, broker: int, node: str) -> None:
        """Create a consumer group at ``node``, or change its whichBrokerWhenConsumeSlowly and brokerId."""


@runtime_checkable
class CanSendTo(Protocol):
    """A producer can send to whatever broker, also to one that takes no messages, and messages to be held back."""

    def send_to(self, producer: str, node: str, size: int, wait: bool, queue: int, level: int = 0) -> None:
        """Start a send to ``node``, with this delay level (0: none); its outcome is recorded when it comes."""


@runtime_checkable
class HasLogs(Protocol):
    """The session's nodes are processes that say something."""

    def logs(self) -> Mapping[str, str]:
        """The end of what each has said, by node."""


class AnyText(str):
    """A value of a fault's argument that stands for any other text, too."""


class Fault(Protocol):
    """One kind of fault, written once for every lab. Its file's name is its name."""

    name: str
    needs: type
    """The ability it needs: one of the ``Can…`` protocols."""
    arguments: Mapping[str, tuple[Any, ...]]
    """Its arguments and the values that search draws from; the first is the default.

    It takes no other texts, unless one of them is :class:`AnyText`.
    """

    def start(self, session: Any, args: Args) -> Any:
        """Begin; a handle for :meth:`stop`."""

    def stop(self, session: Any, handle: Any) -> Effect:
        """End; what it did."""


class Progress(Protocol):
    """Hears how far a long work is."""

    def __call__(self, done: int, total: int | None, doing: str) -> None:
        """``total`` is None where nobody knows."""


Faults = Mapping[str, Fault]
Names = Iterable[str]
