"""What laws share that judge a pull's answer by what was asked, what it brought, and what it says of itself."""

from __future__ import annotations

from typing import NamedTuple

from ....event_types.client import Deliver, Invoke, Ok
from ....judging.law import EVERY, EventFilter, only
from ...known.consumed import subscribed
from ...law import Law

READS = ("pull", "select")
FOUND = "PUT_OK"
"""Code 0."""
NOT_FOUND, RETRY, MOVED = "PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED"


class Answer(NamedTuple):
    """A broker's answer to a pull, of which all offsets are known."""

    call: Invoke
    brought: list[Deliver]
    ok: Ok
    asked: int
    following: int
    """Where to go on."""
    low: int
    high: int
    """The queue's first and next logical offset."""

    @property
    def by_tag(self) -> bool:
        """Whether only some tags were asked for."""
        return self.call.f == "select" or subscribed(self.call.detail) is not None

    @property
    def holds(self) -> bool:
        """Whether the queue has a message at the offset that was asked for."""
        return self.low <= self.asked < self.high


class Pulled(Law):
    """Hands each such answer to :meth:`judge`."""

    needs = frozenset({"invoke", "ok", "deliver"})
    awaits = {"invoke": EventFilter(frozenset(READS)), "deliver": EVERY}

    def judge(self, answer: Answer) -> None:
        """Judge an answer; it counts what it judges."""
        raise NotImplementedError

    def is_a_copy(self, node: str) -> bool:
        """Whether the offsets that a node's records carry are those of its queues."""
        return node not in self.known.logs.diverged and not self.known.logs.is_longer(node)

    @only(*READS)
    def on_ok(self, event: Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is None or begun.call.asked_from is None:
            return
        if event.queue_offset is not None and event.lo is not None and event.hi is not None:
            asked = begun.call.asked_from
            self.judge(Answer(begun.call, begun.brought, event, asked, event.queue_offset, event.lo, event.hi))
