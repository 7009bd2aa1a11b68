"""Calls under way: who was asked, and what was known when the call began.

An answer belongs to the incarnation of the node that gave it. Where that incarnation has ended since the call began,
the answer may have been in flight then, or the next incarnation may have given it. :meth:`Calls.is_current` is false
for such an answer, and no law may compare it with the node's present state.

A call that began while its node was down waits for a connection, and only the next incarnation can answer it.

Bounded by the calls under way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pairproof.harness.history import Event
from pairproof.harness.kinds.client import Call, Invoke
from pairproof.harness.rocketmq.known.nodes import Nodes
from pairproof.harness.rocketmq.known.stores import Stores


class Begun(NamedTuple):
    """A call under way."""

    call: Invoke
    incarnation: int
    """Of the node that was asked: how many had ended when the call began."""
    happened: int
    """How much had happened to stores when the call began: an argument of :meth:`Stores.since`."""
    log_end: int | None
    """Where the log of the node that was asked ended when the call began; None if that was not known."""
    pushed: int
    """The highest valid report to the master when the call began, and when that had arrived, ns."""
    pushed_at: int


class Calls:
    def __init__(self, nodes: Nodes, stores: Stores) -> None:
        self._nodes, self._stores = nodes, stores
        self._open: dict[int, Begun] = {}

    # What laws ask.

    def begun(self, event: Event) -> Begun | None:
        """How the call began that this event answers or is part of; None if its beginning was not recorded."""
        return self._open.get(event.op or 0)

    def is_current(self, event: Event) -> bool:
        """Whether the call began, and is answered now, in one incarnation of the node that was asked."""
        found = self._open.get(event.op or 0)
        return found is not None and found.incarnation == self._nodes.ended(found.call.node)

    def open_at(self, node: str) -> Iterator[Begun]:
        """Calls to this node that are under way, the oldest first."""
        return (each for each in self._open.values() if each.call.node == node)

    def end_before(self, event: Event) -> int | None:
        """Where the log of the answering incarnation ended when this event's call began; None if that is not known."""
        found = self._open.get(event.op or 0)
        return found.log_end if found is not None and found.incarnation == self._nodes.ended(found.call.node) else None

    def happened_before(self, event: Event) -> int:
        """How much had happened to stores when this event's call began; now, if its beginning was not recorded."""
        found = self._open.get(event.op or 0)
        return len(self._stores.happened) if found is None else found.happened

    # What the judge reports.

    def invoked(self, event: Invoke, log_end: int | None, pushed: int, pushed_at: int) -> None:
        ended, happened = self._nodes.ended(event.node), len(self._stores.happened)
        self._open[event.op] = Begun(event, ended, happened, log_end, pushed, pushed_at)

    def ended(self, event: Call) -> None:
        self._open.pop(event.op, None)
