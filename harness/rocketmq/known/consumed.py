"""The records of :mod:`pairproof.harness.rocketmq.known.consumption`: readers, assignments, consumers, routes,
answers.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...texts.content import payload
from .registers import NONE


def subscribed(detail: str | None) -> frozenset[str] | None:
    """The tags that a consumer or a pull requests (``a || b``); None: all."""
    tags = payload(detail).get("tags")
    return frozenset(each.strip() for each in str(tags).split("||")) if tags else None


@dataclass(slots=True, eq=False)
class Consumed:
    """The messages of one queue that one reader received."""

    reader: str
    queue: str
    first: int | None = None
    """The offset at which its first assignment began."""
    chosen: int = 0
    """The highest offset at which a consumer began without a broker's offset."""
    front: int = 0
    """The offset after the last received message, or the first offset; for a reader that subscribes by tag also the
    next offset of an answer, which has passed other tags.
    """
    given: int = 0
    """The highest next offset that it received."""
    passed_at_diverged: list[tuple[int, int]] = field(default_factory=list)
    """Offsets [asked, next) that answers of diverged brokers passed: their queues may hold other messages there."""
    committed: int = NONE
    """The highest offset that it tried to commit."""
    messages: set[str | None] = field(default_factory=set)
    offsets: dict[int, str | None] = field(default_factory=dict)
    """The first message that it received at each queue offset."""


class Assignment:
    __slots__ = ("asked_at", "consumed", "floor", "group", "moved", "next", "position", "served_by", "since", "steps")

    def __init__(self, group: str, consumed: Consumed, since: int, start: int) -> None:
        self.group = group
        self.consumed = consumed
        self.since = since
        """When it began, ns."""
        self.floor = NONE
        """The least progress that the broker may have known when it gave the first offset."""
        self.asked_at: str | None = None
        """That broker; None if the consumer chose itself."""
        self.next = start
        """The offset after its last message."""
        self.position = start
        """The offset of the next pull, from the last answer."""
        self.moved = since
        """The last change of that offset, ns."""
        self.served_by: str | None = None
        """The broker of that answer."""
        self.steps: list[tuple[int, int]] = []
        """When (ns) ``next`` got each value."""

    def next_at(self, t: int) -> int | None:
        """The offset after its last message at ``t`` (ns); None before the first."""
        at = bisect_right(self.steps, t, key=lambda step: step[0])
        return self.steps[at - 1][1] if at else None


class Consumer(NamedTuple):
    """A consumer that has joined and not left."""

    group: str
    clustering: bool
    since: int
    fixed: int | None = None
    """The broker id that its user fixed; None: it follows the brokers' suggestions."""
    orderly: bool = False
    """It consumes and commits a queue only while it holds the queue's lock."""


class Route(NamedTuple):
    since: int
    """Since when it has had the current master, or none, ns."""
    nodes: Mapping[str, str]
    """Broker id to node."""


class Answer(NamedTuple):
    node: str
    offset: int | None
    possible: set[int] | None
