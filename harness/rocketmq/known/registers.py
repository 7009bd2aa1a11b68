"""The progress of a group that a broker's table may have, and that it shows.

After a machine's crash a table is unknown until the next commit, unless the broker promises to flush it. Sources:
ConsumerOffsetManager (a commit overwrites any value), SlaveSynchronize (replaces the entries of the master's topics and
groups).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ...event_types.client import Fail, Info, Ok
from .possible import LOST, NO_ANSWER, Possible

NONE = -1
"""The progress of a table without an entry."""


class Register(Possible[int]):
    __slots__ = ("_saved", "carried", "ever", "is_hidden", "restored")

    def __init__(self, is_hidden: bool = False) -> None:
        super().__init__(NONE)
        self.is_hidden = is_hidden
        """Whether unobserved changes are possible: it may then always have any value."""
        self.ever: set[int] = set()
        """Values of ended commits that may be or have been in the table, since the broker last lost any."""
        self._saved: set[int] = set()
        """Those of them that the last save may have written."""
        self.carried = False
        """Whether a pull carried the last stored commit."""
        self.restored = False
        """Whether the broker ended since, and read its table from its disk."""

    def possible_since(self, t: int) -> set[int] | None:
        return None if self.is_hidden else super().possible_since(t)

    def was_committed(self, value: int) -> bool:
        """Whether a commit of this value may have reached the broker at any time, and been saved if necessary."""
        return value in self.ever or value in self.under_way()

    def save(self) -> None:
        self._saved = self.ever | self.under_way()

    def went_down(self, has_lost_unsaved: bool) -> None:
        """The broker ended. ``has_lost_unsaved``: its disk certainly holds only the last save."""
        if has_lost_unsaved:
            self.ever = set(self._saved)
        else:
            self.ever |= self.under_way()

    def inherit(self, other: Register) -> None:
        """The broker's table is a copy of another broker's."""
        found = other.ever | other.under_way()
        self.ever |= found
        self._saved |= found

    def end(self, call: Ok | Fail | Info, t: int) -> set[int | None] | None:
        never_arrived = call.kind == "fail" and call.status in NO_ANSWER
        of_earlier = call.op in self._outlived and call.kind == "info" and call.status == LOST
        if call.op in self._pending and not (never_arrived or of_earlier):
            self.ever.add(self._pending[call.op][0])
        beside = super().end(call, t)
        if beside is not None:
            self.carried, self.restored = bool(call.carried), False
        return beside

    def may_be_gone(self) -> None:
        """It may have been deleted."""
        for _, others in self._pending.values():
            others.add(NONE)
        if self.settled is not None:
            self.settled.add(NONE)

    def recover(self, since: int, t: int) -> None:
        super().recover(since, t)
        self.restored, self.carried = True, False

    def forget(self, t: int) -> None:
        super().forget(t)
        self.restored = self.carried = False

    def copy(self, found: set[int] | None, since: int, t: int) -> None:
        """Without an entry of the master the slave keeps its own."""
        if found is not None and NONE in found:
            kept = self.possible_since(since)
            found = None if kept is None else found | kept
        super().copy(found, since, t)


class Observation(NamedTuple):
    group: str
    queue: str
    seen: int
    """NONE without an entry."""
    register: Register
    possible: set[int] | None

    def is_possible(self) -> bool:
        """A broker without an entry may answer 0."""
        if self.possible is None or self.seen in self.possible:
            return True
        return self.seen <= 0 and bool(self.possible & {NONE, 0})

    def shown(self) -> str:
        return "nothing" if self.seen == NONE else str(self.seen)


@lru_cache(maxsize=256)
def offsets_of(detail: str) -> Mapping[tuple[str, str], int]:
    """A table of offsets: progress by group and queue; ValueError for text that is not JSON."""
    content = json.loads(detail)
    found = {}
    for key, progress in content.get("offsetTable", content).items():
        topic, _, group = key.partition("@")
        for queue, offset in progress.items():
            found[group, f"{topic}/{queue}"] = int(offset)
    return found
