"""What a broker's table may say of a group's progress, and what it does say.

Left out: what a machine's crash leaves of a table, of which nothing is known until the next commit. Sources:
ConsumerOffsetManager (a commit overwrites, whichever is larger), SlaveSynchronize (replaces what the master has of a
topic and group).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ...event_types.client import Fail, Info, Ok
from .possible import LOST, NO_ANSWER, Possible

NONE = -1
"""The progress that a table without an entry knows."""


class Register(Possible[int]):
    """What one broker's table may say of one group's progress in one queue."""

    __slots__ = ("_saved", "carried", "ever", "is_hidden", "restored")

    def __init__(self, is_hidden: bool = False) -> None:
        super().__init__(NONE)
        self.is_hidden = is_hidden
        """Whether others may change it unseen: it may be anything then, always."""
        self.ever: set[int] = set()
        """Values of commits that ended and may be in the table, or have been, since the broker last lost any."""
        self._saved: set[int] = set()
        """Those of them that the last save may have written."""
        self.carried = False
        """Whether the last commit that was stored rode on a pull."""
        self.restored = False
        """Whether the broker was killed or stopped since, and read its table from its disk."""

    def possible_since(self, t: int) -> set[int] | None:
        return None if self.is_hidden else super().possible_since(t)

    def was_committed(self, value: int) -> bool:
        """Whether a commit of this value may have reached the broker, at whatever time, and been saved if it had to."""
        return value in self.ever or value in self.under_way()

    def save(self) -> None:
        """The broker wrote its table."""
        self._saved = self.ever | self.under_way()

    def went_down(self, has_lost_unsaved: bool) -> None:
        """The broker ended. ``has_lost_unsaved``: it is sure to have on its disk what it saved last, and no more."""
        if has_lost_unsaved:
            self.ever = set(self._saved)
        else:
            self.ever |= self.under_way()

    def inherit(self, other: Register) -> None:
        """The broker continues with the store of another one."""
        self.ever |= other.ever | other.under_way()

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
        """Somebody may have deleted it."""
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
        """Where the master has no entry the slave keeps its own."""
        if found is not None and NONE in found:
            kept = self.possible_since(since)
            found = None if kept is None else found | kept
        super().copy(found, since, t)


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
