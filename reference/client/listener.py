"""What a consumer lets others see: evidence, never part of the protocol.

Calls that a consumer makes are numbered by ``op``, from 0 within one consumer, so that an end finds its beginning.
Every call that began ends once, with its :class:`pairproof.reference.core.calls.Outcome`; those that are on the way
when a consumer closes end as ``info``, before :meth:`Listener.went`.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from ..core.calls import Outcome
from ..wire.bodies_client import MessageQueue
from ..wire.bodies_route import TopicRouteData
from ..wire.record import Record


class Listener(Protocol):
    """Hears what a consumer does, at the moment it does it. ``broker_id``: 0 is the master."""

    def came(self) -> None:
        """The consumer started."""

    def went(self, lost: bool) -> None:
        """It ended, and does nothing more; ``lost``: without a word to anybody, as its process died."""

    def route_learned(self, topic: str, route: TopicRouteData | None) -> None:
        """A name server answered. None: it has no route, and the consumer goes on with what it knew before."""

    def query_began(self, op: int, queue: MessageQueue, broker_id: int, address: str) -> None:
        """A broker is asked for the group's offset."""

    def query_ended(self, op: int, outcome: Outcome, offset: int | None) -> None:
        """``offset`` is None where the broker knows none (the outcome is ok), and where there was no answer."""

    def assigned(self, queue: MessageQueue, offset: int) -> None:
        """The consumer took the queue, and goes on from ``offset``."""

    def given_up(self, queue: MessageQueue, offset: int) -> None:
        """It has let go of the queue, with its progress at ``offset``; the last commit has just begun."""

    def pull_began(self, op: int, queue: MessageQueue, offset: int, broker_id: int, address: str) -> None:
        """A broker is asked for what is in the queue from ``offset`` on."""

    def delivered(self, op: int, queue: MessageQueue, record: Record, raw: bytes) -> None:
        """The pull ``op`` brought a message, which is now consumed; told before that pull's end. ``raw``: its bytes."""

    def pull_ended(self, op: int, outcome: Outcome, header: Mapping[str, Any] | None) -> None:
        """``header``: nextBeginOffset, minOffset, maxOffset and suggestWhichBrokerId, as integers; None unless the
        outcome is ok.
        """

    def commit_began(
        self, op: int, queue: MessageQueue, offset: int, broker_id: int, address: str, with_pull: bool
    ) -> None:
        """A broker is told the group's progress. ``with_pull``: by the pull that begins next; ends right after that."""

    def commit_ended(self, op: int, outcome: Outcome) -> None:
        """``ok``: the broker took it."""

    def back_began(
        self, op: int, queue: MessageQueue, record: Record, level: int, most: int, broker_id: int, address: str
    ) -> None:
        """A message is sent back, to come again after this delay ``level``; after ``most`` retries a dead letter."""

    def back_ended(self, op: int, outcome: Outcome) -> None:
        """``ok``: the broker has it."""


class Deaf:
    """A listener that does nothing."""

    def came(self) -> None: ...
    def went(self, lost: bool) -> None: ...
    def route_learned(self, topic: str, route: TopicRouteData | None) -> None: ...
    def query_began(self, op: int, queue: MessageQueue, broker_id: int, address: str) -> None: ...
    def query_ended(self, op: int, outcome: Outcome, offset: int | None) -> None: ...
    def assigned(self, queue: MessageQueue, offset: int) -> None: ...
    def given_up(self, queue: MessageQueue, offset: int) -> None: ...
    def pull_began(self, op: int, queue: MessageQueue, offset: int, broker_id: int, address: str) -> None: ...
    def delivered(self, op: int, queue: MessageQueue, record: Record, raw: bytes) -> None: ...
    def pull_ended(self, op: int, outcome: Outcome, header: Mapping[str, Any] | None) -> None: ...
    def commit_began(
        self, op: int, queue: MessageQueue, offset: int, broker_id: int, address: str, with_pull: bool
    ) -> None: ...
    def commit_ended(self, op: int, outcome: Outcome) -> None: ...
    def back_began(
        self, op: int, queue: MessageQueue, record: Record, level: int, most: int, broker_id: int, address: str
    ) -> None: ...
    def back_ended(self, op: int, outcome: Outcome) -> None: ...
