"""Calls in flight: the node, the state when the call began, and its results.

An answer belongs to the incarnation of the node that gave it. If that incarnation has ended since the call began, the
answer may have been in flight then, or come from the next incarnation. :meth:`Calls.is_current` is false for such an
answer, and no law may compare it with the node's current state.

A call that began while its node was down waits for a connection, and only the next incarnation can answer it. It may
never arrive: a machine that lost power did not close its connections (:attr:`Begun.is_up`).

*Questions* are the calls with their own numbers: see :data:`Question`. Bounded by the calls in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ...event_types.client import Call, Deliver, Invoke, Try
from ...history import Event
from ...texts.content import is_followed
from ..event_types.groups import Ask, Back, Lock
from ..event_types.transactions import Decide
from ..topology import NO_SLAVES

if TYPE_CHECKING:
    from .model import Known

MAKES = ("topic", "group")
"""The objects of an administrator's calls."""
Question = TypeVar("Question", Ask, Back, Decide, Lock)
Asked = TypeVar("Asked", bound=Event)


class Begun(NamedTuple, Generic[Asked]):
    call: Asked
    incarnation: int
    """How many incarnations of the node had ended when the call began."""
    is_up: bool
    happened: int
    """How many events of stores had happened when the call began: an argument of :meth:`Stores.since`."""
    disturbed: frozenset[str]
    log_end: int | None
    """The end of the node's log, without a transient store pool, when the call began; None if unknown."""
    dispatched: int
    """The end of the dispatched log of that node when the call began."""
    pushed: int
    """The highest valid report to the master when the call began, and its arrival, ns."""
    pushed_at: int
    brought: list[Deliver]
    follows: bool
    """Whether it is a further send of a batch."""
    tries: list[Try]


class Calls:
    def __init__(self, known: Known) -> None:
        self._known = known
        self._open: dict[int, Begun[Invoke]] = {}
        self._questions: dict[tuple[str, int | None, int | None], Begun[Any]] = {}
        self._first: dict[int | None, int] = {}
        self.made: set[tuple[str, str | None]] = set()
        """Topics and groups that an administrator has requested from a master."""
        self._is_followed = False
        """Whether further sends of the last batch follow."""

    def begun(self, event: Event) -> Begun[Invoke] | None:
        """The call that this event answers or is part of; None if its beginning was not recorded."""
        return self._open.get(event.op or 0)

    def asked(self, event: Question) -> Begun[Question] | None:
        """The question that this event answers; None if its beginning was not recorded."""
        return self._questions.get((event.kind, event.process, event.op))

    def is_current(self, event: Event) -> bool:
        """Whether the call began, and is answered now, in one incarnation of the node."""
        found = self._find(event)
        return found is not None and found.incarnation == self._known.nodes.ended(found.call.node)

    def open(self) -> Iterator[Begun[Invoke]]:
        """Calls in flight, the oldest first."""
        return iter(self._open.values())

    def open_at(self, node: str) -> Iterator[Begun[Invoke]]:
        return (each for each in self._open.values() if each.call.node == node)

    def questions(self, kind: type[Question]) -> Iterator[Begun[Question]]:
        return (each for each in self._questions.values() if isinstance(each.call, kind))

    def end_before(self, event: Event) -> int | None:
        """The end of the answering incarnation's readable log when this event's call began; None if unknown."""
        found = self.begun(event)
        return found.log_end if found is not None and self.is_current(event) else None

    def happened_before(self, event: Event) -> int:
        """How many events of stores had happened when this event's call began; the current number if its beginning was
        not recorded.
        """
        found = self._find(event)
        return len(self._known.stores.happened) if found is None else found.happened

    def first_at(self, process: int | None) -> int:
        """The first call of a client, and so the age of its connection, ns; 0 without a call."""
        return self._first.get(process, 0)

    def _find(self, event: Event) -> Begun[Any] | None:
        if event.kind in _QUESTIONS:
            return self._questions.get((event.kind, event.process, event.op))
        return self._open.get(event.op or 0)

    def invoked(self, event: Invoke) -> None:
        self._first.setdefault(event.process, event.t)
        if event.f in MAKES and event.node in NO_SLAVES:
            self.made.add((event.f, event.message))
        follows = event.f == "send" and self._is_followed
        self._open[event.op] = self._begin(event, follows)
        if event.f == "send":
            self._is_followed = is_followed(event)

    def delivered(self, event: Deliver) -> None:
        found = self._open.get(event.op)
        if found is not None:
            found.brought.append(event)

    def tried(self, event: Try) -> None:
        self._first.setdefault(event.process, event.t)
        found = self._open.get(event.op)
        if found is not None:
            found.tries.append(event)

    def ended(self, event: Call) -> None:
        self._open.pop(event.op, None)

    def questioned(self, event: Ask | Back | Decide | Lock) -> None:
        key = (event.kind, event.process, event.op)
        if event.kind == "decide":
            self._first.setdefault(event.process, event.t)
        if "asked" in (event.f, event.status):
            self._questions[key] = self._begin(event)
        elif event.status != "told":
            self._questions.pop(key, None)

    def _begin(self, event: Asked, follows: bool = False) -> Begun[Asked]:
        known, node = self._known, event.node or ""
        end = known.logs.log_end(node)
        if end is not None and node in known.stores.pooled:
            end = min(end, known.committed(node))
        return Begun(
            event, known.nodes.ended(node), node in known.up, len(known.stores.happened),
            known.disturbances.disturbed(),
            end, known.dispatched.shown(node) or 0, known.pushed, known.pushed_at, [], follows, []
        )  # fmt: skip


_QUESTIONS = frozenset({"ask", "back", "decide", "lock"})
