"""What laws share that judge a pull's answer by what it says of itself: what was asked, what it brought, how it ended.

Bounded by the pulls under way, and by what each of them has brought.
"""

from __future__ import annotations

from typing import NamedTuple

from pairproof.harness.kinds.client import Deliver, Fail, Info, Invoke, Ok
from pairproof.harness.rocketmq.known.consumed import subscribed
from pairproof.harness.rocketmq.law import Law

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

    def begin(self) -> None:
        self.asked: dict[int, tuple[Invoke, list[Deliver]]] = {}

    def judge(self, answer: Answer) -> None:
        """Judge an answer; it counts what it judges."""
        raise NotImplementedError

    def is_a_copy(self, node: str) -> bool:
        """Whether the offsets that a node's records carry are those of its queues."""
        return node not in self.known.logs.diverged and not self.known.logs.is_longer(node)

    def on_invoke(self, event: Invoke) -> None:
        if event.f in READS and event.asked_from is not None:
            self.asked[event.op] = event, []

    def on_deliver(self, event: Deliver) -> None:
        if event.op in self.asked:
            self.asked[event.op][1].append(event)

    def on_ok(self, event: Ok) -> None:
        call, brought = self.asked.pop(event.op, (None, []))
        if call is None or event.queue_offset is None or event.lo is None or event.hi is None:
            return
        self.judge(Answer(call, brought, event, call.asked_from or 0, event.queue_offset, event.lo, event.hi))

    def on_fail(self, event: Fail | Info) -> None:
        self.asked.pop(event.op, None)

    on_info = on_fail
