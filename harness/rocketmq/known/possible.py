"""All values that one thing in a broker's table may have.

Many calls are under way at once, some are never answered, a sync overwrites a slave's table, and a killed broker goes
back to what it had written. So a :class:`Possible` holds *every* value that is possible: one outside of them is sure to
be wrong. A value of None stands for any. Times are in nanoseconds, or events' numbers, as the owner likes.

Bounded by the calls of one trial.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

from ...event_types.client import Fail, Info, Ok

T = TypeVar("T")
LOST = "disconnected"
"""The status of a call whose connection ended before its answer came."""
NO_ANSWER = frozenset({"refused", "timeout"})
"""How a call can fail without having reached the broker."""


class Possible(Generic[T]):
    __slots__ = ("_outlived", "_past", "_pending", "_touched", "_unanswered", "settled")

    def __init__(self, value: T) -> None:
        self.settled: set[T] | None = {value}
        """What it may be if no call under way has arrived; None: anything."""
        self._pending: dict[int | None, tuple[T, set[T | None]]] = {}
        """Calls under way: their value, and what else may have been stored meanwhile; None: anything."""
        self._unanswered: dict[int | None, int] = {}
        """When clients gave up those that may arrive all the same."""
        self._outlived: set[int | None] = set()
        """Calls under way when the broker went down: one that waits for a connection may reach its next life."""
        self._past: list[tuple[int, T | None]] = []
        """Values that it cannot be since then; a value of None: anything."""
        self._touched = -1

    # What laws ask.

    def possible_since(self, t: int) -> set[T] | None:
        """All that it may have been at any moment since ``t``; None: anything."""
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
        """What calls ask for that may still arrive."""
        return {value for value, _ in self._pending.values()}

    # What happens.

    def begin(self, op: int | None, value: T, t: int) -> None:
        beside: set[T | None] = {other for other, _ in self._pending.values()}
        for _, others in self._pending.values():
            others.add(value)
        self._pending[op] = (value, beside)
        self._touched = t

    def end(self, call: Ok | Fail | Info, t: int) -> set[T | None] | None:
        """A call was answered, or not: that one may arrive at any time, until :meth:`give_up`.

        What besides its value may be stored; None if the call replaced nothing for sure.
        """
        if call.op not in self._pending:
            return None
        if call.op in self._outlived and (call.kind == "ok" or call.status == LOST):
            # A lost connection was to the broker's earlier life; an answer may be from there, too.
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
        """What had not been answered at ``since`` has arrived or never will."""
        for op in [op for op, t in self._unanswered.items() if t <= since]:
            del self._unanswered[op]
            self._drop(op, may_be_stored=True)

    def recover(self, since: int, t: int) -> None:
        """The broker went down; its disk holds the table as it was at some moment after ``since``."""
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
        """A sync that was asked for at ``since`` brought what the master had then or later."""
        if found is not None and self._touched >= since:
            # A call may have come after the copy.
            kept = self.possible_since(since)
            found = None if kept is None else found | kept
        for _, others in self._pending.values():
            others.update({None} if found is None else found)
        self.become(found, t)

    def become(self, values: Collection[T | None] | None, t: int) -> None:
        known = None if values is None else {value for value in values if value is not None}
        # One that may be anything: all may be.
        now = known if values is not None and None not in values else None
        gone: set[T] | set[None] = {None} if self.settled is None else self.settled
        self._past.extend((t, value) for value in gone if now is not None and value not in now)
        self.settled = now
