"""Observer of a consumer: evidence, never part of the protocol.

A consumer numbers its calls by ``op``, from 0, to match ends with begins. Every call ends once, with its
:class:`pairproof.reference.core.calls.Outcome`; calls in flight when a consumer closes end as ``info``, before
:meth:`Listener.went`.
"""

from collections.abc import Mapping
from typing import Any

from ..core.calls import Outcome
from ..wire.bodies_client import MessageQueue
from ..wire.bodies_route import TopicRouteData
from ..wire.record import Record


class Listener:
    """Called at the moment of each event. By default it records nothing. ``broker_id``: 0 is the master."""

    def came(self) -> None:
        """The consumer started."""

    def went(self, lost: bool) -> None:
        """The consumer ended; ``lost``: without leaving the group, as when its process is killed."""

    def route_learned(self, topic: str, route: TopicRouteData | None) -> None:
        """A name server answered. None: it has no route, and the consumer keeps the previous one."""

    def query_began(self, op: int, queue: MessageQueue, broker_id: int, address: str) -> None:
        """The group's offset is queried from a broker."""

    def query_ended(self, op: int, outcome: Outcome, offset: int | None) -> None:
        """``offset`` is None without an answer, and if the broker has none (the outcome is ok)."""

    def assigned(self, queue: MessageQueue, offset: int) -> None:
        """The consumer took the queue, and starts at ``offset``."""

    def given_up(self, queue: MessageQueue, offset: int) -> None:
        """The consumer gave the queue up with its progress at ``offset``; the last commit has just begun."""

    def pull_began(self, op: int, queue: MessageQueue, offset: int, broker_id: int, address: str) -> None:
        """A pull of the queue from ``offset`` on begins."""

    def delivered(self, op: int, queue: MessageQueue, record: Record, raw: bytes) -> None:
        """The pull ``op`` returned a message, which is now consumed; precedes that pull's end. ``raw``: its bytes."""

    def pull_ended(self, op: int, outcome: Outcome, header: Mapping[str, Any] | None) -> None:
        """``header``: nextBeginOffset, minOffset, maxOffset and suggestWhichBrokerId, as integers; None unless the
        outcome is ok.
        """

    def commit_began(
        self, op: int, queue: MessageQueue, offset: int, broker_id: int, address: str, with_pull: bool
    ) -> None:
        """A commit of the group's progress begins. ``with_pull``: in the pull that begins next; it ends right after."""

    def commit_ended(self, op: int, outcome: Outcome) -> None:
        """``ok``: the broker accepted it."""

    def back_began(
        self, op: int, queue: MessageQueue, record: Record, level: int, most: int, broker_id: int, address: str
    ) -> None:
        """A message is sent back, with this delay ``level``; after ``most`` retries it is a dead letter."""

    def back_ended(self, op: int, outcome: Outcome) -> None:
        """``ok``: the broker stored it."""
