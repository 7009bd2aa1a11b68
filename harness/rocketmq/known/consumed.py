"""What is remembered of a reader, of an assignment, of a consumer, of a route and of an answer.

Kept by :mod:`pairproof.harness.rocketmq.known.consumption`.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from ...texts.content import payload
from .registers import NONE


def subscribed(detail: str | None) -> frozenset[str] | None:
    """The tags that a consumer, or a pull, says it asks for (``a || b``); None: all."""
    tags = payload(detail).get("tags")
    return frozenset(each.strip() for each in str(tags).split("||")) if tags else None


class Consumed:
    """What one reader has had of one queue."""

    __slots__ = ("chosen", "committed", "first", "front", "given", "messages", "offsets", "queue", "reader")

    def __init__(self, reader: str, queue: str) -> None:
        self.reader = reader
        self.queue = queue
        self.first: int | None = None
        """Where its first assignment went on from."""
        self.chosen = 0
        """The highest offset that a consumer went on from where no broker knew of any."""
        self.front = 0
        """Behind the last message that it received, or where it began; of a reader that subscribes by tag also where an
        answer went on, since that passed what it did not ask for."""
        self.given = 0
        """The highest offset that it was told to go on from."""
        self.committed = NONE
        """The highest that it tried to commit."""
        self.messages: set[str | None] = set()
        self.offsets: dict[int, str | None] = {}
        """The first message that it received under each queue offset."""


class Assignment:
    """A consumer holds a queue."""

    __slots__ = ("asked_at", "consumed", "floor", "group", "moved", "next", "position", "served_by", "since", "steps")

    def __init__(self, group: str, consumed: Consumed, since: int, start: int) -> None:
        self.group = group
        self.consumed = consumed
        self.since = since
        """When it was taken, ns."""
        self.floor = NONE
        """The least progress that the broker which said where to go on may have known."""
        self.asked_at: str | None = None
        """That broker; None if the consumer itself chose."""
        self.next = start
        """Behind the last message that came of it."""
        self.position = start
        """Where the next pull goes on, by the last answer."""
        self.moved = since
        """When that changed last, ns."""
        self.served_by: str | None = None
        """Whose answer that was."""
        self.steps: list[tuple[int, int]] = []
        """When (ns) ``next`` became what."""

    def next_at(self, t: int) -> int | None:
        """Behind the last message that had come of it at ``t`` (ns); None if none had."""
        at = bisect_right(self.steps, t, key=lambda step: step[0])
        return self.steps[at - 1][1] if at else None


class Consumer(NamedTuple):
    """One that came and has not gone."""

    group: str
    clustering: bool
    since: int
    fixed: int | None = None
    """The broker id that its user has it read from; None: it follows what brokers suggest."""
    orderly: bool = False
    """It consumes a queue only while it holds its lock, and commits only then."""


class Route(NamedTuple):
    """What a client last learned of the pair."""

    since: int
    """Since when it has known the master, or known of none, ns."""
    nodes: Mapping[str, str]
    """Broker id to node."""


class Answer(NamedTuple):
    """What a broker said of a group's progress."""

    node: str
    offset: int | None
    possible: set[int] | None
