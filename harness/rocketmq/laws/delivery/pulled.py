"""Base of laws that judge a pull's answer by the request, its messages and its offsets."""

from __future__ import annotations

from typing import NamedTuple

from ....event_types.client import Deliver, Invoke, Ok
from ....judging.law import EVERY, EventFilter, only
from ...known.consumed import subscribed
from ...law import Law

READS = ("pull", "select")
FOUND = "PUT_OK"
NOT_FOUND, RETRY, MOVED = "PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED"


class Answer(NamedTuple):
    """A broker's answer to a pull, with all its offsets."""

    call: Invoke
    brought: list[Deliver]
    ok: Ok
    asked: int
    following: int
    low: int
    high: int
    """The queue's first and next logical offset."""

    @property
    def by_tag(self) -> bool:
        return self.call.f == "select" or subscribed(self.call.detail) is not None

    @property
    def holds(self) -> bool:
        return self.low <= self.asked < self.high


class Pulled(Law):
    """Hands each such answer to :meth:`judge`."""

    needs = frozenset({"invoke", "ok", "deliver"})
    awaits = {"invoke": EventFilter(frozenset(READS)), "deliver": EVERY}

    def judge(self, answer: Answer) -> None:
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
