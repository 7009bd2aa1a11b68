"""What a broker's table may say of a group's progress, and what it does say.

Many commits are under way at once, some are never answered, a slave's are overwritten by its metadata sync, and a
killed broker goes back to what it had written. So a :class:`Register` holds *all* values that are possible: an answer
outside of them is sure to be wrong.

Bounded by the commits of one trial. Left out: what a machine's crash leaves of a table, of which nothing is known until
the next commit. Sources: ConsumerOffsetManager (a commit overwrites, whichever is larger), SlaveSynchronize (replaces
what the master has of a topic and group).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from ...kinds.client import Fail, Info, Invoke, Ok

NONE = -1
"""The progress that a table without an entry knows."""
LOST = "disconnected"
"""The status of a call whose connection ended before its answer came."""
NO_ANSWER = frozenset({"refused", "timeout"})
"""How a call can fail without having reached the broker."""


class Register:
    """What one broker's table may say of one group's progress in one queue."""

    __slots__ = (
        "_outlived", "_past", "_pending", "_saved", "_touched", "_unanswered", "carried", "ever", "is_hidden",
        "restored", "settled",
    )  # fmt: skip

    def __init__(self, is_hidden: bool = False) -> None:
        self.is_hidden = is_hidden
        """Whether others may change it unseen: it may be anything then, always."""
        self.settled: set[int] | None = {NONE}
        """What it may be if no commit under way has arrived; None: anything."""
        self._pending: dict[int | None, tuple[int, set[int | None]]] = {}
        """Commits under way: their value, and what else may have been stored meanwhile; None: anything."""
        self._unanswered: dict[int | None, int] = {}
        """When clients gave up those that may arrive all the same, ns."""
        self._outlived: set[int | None] = set()
        """Commits under way when the broker went down: one that waits for a connection may reach its next life."""
        self._past: list[tuple[int, int | None]] = []
        """Values that it cannot be since then, ns; a value of None: anything."""
        self.ever: set[int] = set()
        """Values of commits that ended and may be in the table, or have been, since the broker last lost any."""
        self._saved: set[int] = set()
        """Those of them that the last save may have written."""
        self._touched = -1
        self.carried = False
        """Whether the last commit that was stored rode on a pull."""
        self.restored = False
        """Whether the broker was killed or stopped since, and read its table from its disk."""

    def possible_since(self, t: int) -> set[int] | None:
        """All that it may have been at any moment since ``t`` (ns); None: anything."""
        if self.settled is None or self.is_hidden:
            return None
        found = self.settled | {value for value, _ in self._pending.values()}
        for ended, value in reversed(self._past):
            if ended < t:
                break
            if value is None:
                return None
            found.add(value)
        return found

    def was_committed(self, value: int) -> bool:
        """Whether a commit of this value may have reached the broker, at whatever time, and been saved if it had to."""
        return value in self.ever or any(value == each for each, _ in self._pending.values())

    def save(self) -> None:
        """The broker wrote its table."""
        self._saved = self.ever | {value for value, _ in self._pending.values()}

    def went_down(self, has_lost_unsaved: bool) -> None:
        """The broker ended. ``has_lost_unsaved``: it is sure to have on its disk what it saved last, and no more."""
        if has_lost_unsaved:
            self.ever = set(self._saved)
        else:
            self.ever |= {value for value, _ in self._pending.values()}

    def inherit(self, other: Register) -> None:
        """The broker continues with the store of another one."""
        self.ever |= other.ever | {value for value, _ in other._pending.values()}

    def begin(self, commit: Invoke) -> None:
        value = commit.queue_offset or 0
        beside: set[int | None] = {other for other, _ in self._pending.values()}
        for _, others in self._pending.values():
            others.add(value)
        self._pending[commit.op] = (value, beside)
        self._touched = commit.t

    def end(self, commit: Ok | Fail | Info) -> None:
        """A commit was answered, or not: that one may arrive at any time, until :meth:`give_up`."""
        if commit.op not in self._pending:
            return
        never_arrived = commit.kind == "fail" and commit.status in NO_ANSWER
        of_earlier = commit.op in self._outlived and commit.kind == "info" and commit.status == LOST
        if not (never_arrived or of_earlier):
            self.ever.add(self._pending[commit.op][0])
        if commit.op in self._outlived and (commit.kind == "ok" or commit.status == LOST):
            # A lost connection was to the broker's earlier life; an answer may be from there, too.
            self._outlived.discard(commit.op)
            value, _ = self._pending.pop(commit.op)
            if commit.kind == "ok" and self.settled is not None:
                self.settled.add(value)
            return
        if commit.kind == "info":
            self._unanswered[commit.op] = commit.t
            return
        value, beside = self._pending.pop(commit.op)
        if commit.kind == "ok":
            self._become({value, *beside}, commit.t)
            self.carried = bool(commit.carried)
            self.restored = False
        elif self.settled is not None and not never_arrived:
            self.settled.add(value)

    def give_up(self, since: int) -> None:
        """What had not been answered at ``since`` (ns) has arrived or never will."""
        for op in [op for op, t in self._unanswered.items() if t <= since]:
            del self._unanswered[op]
            value, _ = self._pending.pop(op)
            if self.settled is not None:
                self.settled.add(value)

    def may_be_gone(self) -> None:
        """Somebody may have deleted it."""
        for _, others in self._pending.values():
            others.add(NONE)
        if self.settled is not None:
            self.settled.add(NONE)

    def recover(self, since: int, t: int) -> None:
        """The broker went down; its disk holds the table as it was at some moment after ``since``."""
        self._become(self.possible_since(since), t)
        self._outlive()
        self.restored = True
        self.carried = False

    def forget(self, t: int) -> None:
        self._become(None, t)
        self._outlive()
        self.restored = self.carried = False

    def _outlive(self) -> None:
        for op in self._unanswered:
            del self._pending[op]
        self._unanswered.clear()
        self._outlived = set(self._pending)

    def copy(self, found: set[int] | None, since: int, t: int) -> None:
        """A sync that was asked for at ``since`` brought what the master had then or later."""
        kept = self.possible_since(since)
        if found is not None and (NONE in found or self._touched >= since):
            # The master may have had no entry; or a commit came after the copy.
            found = None if kept is None else found | kept
        for _, others in self._pending.values():
            others.update({None} if found is None else found)
        self._become(found, t)

    def _become(self, values: Collection[int | None] | None, t: int) -> None:
        known = None if values is None else {value for value in values if value is not None}
        # One that may be anything: all may be.
        now = known if values is not None and None not in values else None
        gone: set[int] | set[None] = {None} if self.settled is None else self.settled
        self._past.extend((t, value) for value in gone if now is not None and value not in now)
        self.settled = now


class Observation(NamedTuple):
    """A group's progress as a broker's table or answer shows it."""

    group: str
    queue: str
    seen: int
    """NONE where there is no entry."""
    register: Register
    possible: set[int] | None
    """What it may be; None: anything."""

    def is_possible(self) -> bool:
        """A broker without an entry may say 0."""
        if self.possible is None or self.seen in self.possible:
            return True
        return self.seen <= 0 and bool(self.possible & {NONE, 0})

    def shown(self) -> str:
        return "nothing" if self.seen == NONE else str(self.seen)


@lru_cache(maxsize=256)
def offsets_of(detail: str) -> Mapping[tuple[str, str], int]:
    """A table of offsets: progress by group and queue; ValueError for text that is no JSON."""
    said = json.loads(detail)
    found = {}
    for key, progress in said.get("offsetTable", said).items():
        topic, _, group = key.partition("@")
        for queue, offset in progress.items():
            found[group, f"{topic}/{queue}"] = int(offset)
    return found
