"""All possible values of an entry of a broker's table.

Many calls are in flight at once, some are never answered, a sync overwrites a slave's table, and a killed broker
reverts to its last save. So a :class:`Possible` holds *every* possible value: any other one is certainly wrong. A value
of None stands for any. Times are nanoseconds or events' numbers, as the owner chooses.

Bounded by the calls of one trial.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

from ...event_types.client import Fail, Info, Ok

T = TypeVar("T")
LOST = "disconnected"
"""The status of a call whose connection ended before its answer."""
NO_ANSWER = frozenset({"refused", "timeout"})
"""Failures of a call that need not have reached the broker."""


class Possible(Generic[T]):
    __slots__ = ("_outlived", "_past", "_pending", "_touched", "_unanswered", "settled")

    def __init__(self, value: T) -> None:
        self.settled: set[T] | None = {value}
        """The possible values if no call in flight has arrived; None: any."""
        self._pending: dict[int | None, tuple[T, set[T | None]]] = {}
        """Calls in flight: their value, and the other values that may have been stored since; None: any."""
        self._unanswered: dict[int | None, int] = {}
        """When clients gave up calls that may still arrive."""
        self._outlived: set[int | None] = set()
        """Calls in flight when the broker ended: one that waits for a connection may reach its next incarnation."""
        self._past: list[tuple[int, T | None]] = []
        """Earlier values, with their ends; a value of None: any."""
        self._touched = -1

    def possible_since(self, t: int) -> set[T] | None:
        """All possible values at any moment since ``t``; None: any."""
        if self.settled is None:
            return None
        found = self.settled | self.under_way()
        for ended, value in reversed(self._past):
            if ended < t:
                break
            if value is None:
                return None
            found.add(value)
        return found

    def under_way(self) -> set[T]:
        """Values of calls that may still arrive."""
        return {value for value, _ in self._pending.values()}

    def begin(self, op: int | None, value: T, t: int) -> None:
        beside: set[T | None] = {other for other, _ in self._pending.values()}
        for _, others in self._pending.values():
            others.add(value)
        self._pending[op] = (value, beside)
        self._touched = t

    def end(self, call: Ok | Fail | Info, t: int) -> set[T | None] | None:
        """A call ended. Without an answer it may arrive at any time, until :meth:`give_up`.

        Returns the values besides its own that may be stored; None if the call certainly replaced nothing.
        """
        if call.op not in self._pending:
            return None
        if call.op in self._outlived and (call.kind == "ok" or call.status == LOST):
            # The lost connection was to the broker's earlier incarnation; an answer may be from it, too.
            self._outlived.discard(call.op)
            self._drop(call.op, may_be_stored=call.kind == "ok")
        elif call.kind == "info":
            self._unanswered[call.op] = t
        elif call.kind == "ok":
            value, beside = self._pending.pop(call.op)
            self.become({value, *beside}, t)
            return beside
        else:
            self._drop(call.op, may_be_stored=call.status not in NO_ANSWER)
        return None

    def _drop(self, op: int | None, may_be_stored: bool) -> None:
        value, _ = self._pending.pop(op)
        if may_be_stored and self.settled is not None:
            self.settled.add(value)

    def give_up(self, since: int) -> None:
        """Calls without an answer at ``since`` have arrived or never will."""
        for op in [op for op, t in self._unanswered.items() if t <= since]:
            del self._unanswered[op]
            self._drop(op, may_be_stored=True)

    def recover(self, since: int, t: int) -> None:
        """The broker ended; its disk holds the table as of some moment after ``since``."""
        self.become(self.possible_since(since), t)
        self._outlive()

    def forget(self, t: int) -> None:
        self.become(None, t)
        self._outlive()

    def _outlive(self) -> None:
        for op in self._unanswered:
            del self._pending[op]
        self._unanswered.clear()
        self._outlived = set(self._pending)

    def copy(self, found: set[T] | None, since: int, t: int) -> None:
        """A sync that was requested at ``since`` brought the master's values of then or later."""
        if found is not None and self._touched >= since:
            # A call may have come after the copy.
            earlier = self.possible_since(since)
            found = None if earlier is None else found | earlier
        for _, others in self._pending.values():
            others.update({None} if found is None else found)
        self.become(found, t)

    def become(self, values: Collection[T | None] | None, t: int) -> None:
        known = None if values is None else {value for value in values if value is not None}
        # If one may be any value, all may be.
        now = known if values is not None and None not in values else None
        gone: set[T] | set[None] = {None} if self.settled is None else self.settled
        self._past.extend((t, value) for value in gone if now is not None and value not in now)
        self.settled = now
