"""Nodes: settings, starts, ends and stores."""

from __future__ import annotations

from typing import Literal

from ..history import Event
from .base import OfNode
from .text import The, amount, count, span

UNKNOWN = "unknown"
"""How a node recovered that is seen from outside: of its log whole records are known, and no part of one."""


class Config(Event):
    """Settings of a node, once, before its first start."""

    __slots__ = ()
    node: str
    detail: str
    """JSON: the system's own keys and values."""

    def words(self, the: The) -> str:
        return f"{self.node} is configured"


class Start(OfNode):
    """A node came up."""

    __slots__ = ()
    lo: int | None
    """Where its log begins, after recovery; a name server has none."""
    hi: int | None
    """Where it ends."""
    f: Literal["normal", "abnormal", "empty", "unknown"]
    """How it recovered."""

    def words(self, the: The) -> str:
        log = "" if self.hi is None else f", log {span(self)}"
        return f"{self.node} starts {_RECOVERY.get(self.f, '')}{log}"


class Crash(OfNode):
    """A node went down without its will."""

    __slots__ = ()
    f: Literal["process", "machine"]
    """What went down."""
    value: int
    """Bytes of its log that were lost."""
    status: Literal["lied", "own", "disk", "stuck"] | None
    """Lied: its disk had reported lost bytes as durable; own: it ended by itself; disk: the same, on a failing disk;
    stuck: it ended in a loop."""
    detail: str | None
    """Of the last three: what it said."""

    def words(self, the: The) -> str:
        if self.status in _BY_ITSELF:
            return f"{self.node} {_BY_ITSELF[self.status]}: {self.detail}"
        how = {"machine": "lost power", "process": "was killed"}.get(self.f, "went down")
        lied = ", which its disk had called durable" if self.status == "lied" else ""
        return f"{self.node} {how}; {amount(self.value or 0)} of its log lost{lied}"


class Abort(OfNode):
    """A node that was down did not come up."""

    __slots__ = ()
    f: Literal["refused", "ended", "stuck"]
    """Refused: it does not accept its store; ended: any other exit; stuck: it looped and was ended."""
    status: Literal["disk"] | None
    """disk: its disk was failing it."""
    detail: str
    """What it said."""

    def words(self, the: The) -> str:
        how = {"refused": "refuses its store", "stuck": "starts without end"}.get(self.f, "does not come up")
        disk = "; its disk is failing it" if self.status == "disk" else ""
        return f"{self.node} {how}: {self.detail}{disk}"


class Stop(OfNode):
    """A node was stopped, and ended cleanly."""

    __slots__ = ()
    value: int | None
    """How long that took, ms, where it takes time."""

    def words(self, the: The) -> str:
        return f"{self.node} stops"


class Wipe(Event):
    """The node's store was replaced while it was down."""

    __slots__ = ()
    node: str
    f: Literal["empty", "image"]
    """image: an older state of it."""
    hi: int
    """Where the new store's log ends."""
    detail: str | None
    """The node whose store it was until now, if another's."""

    def words(self, the: The) -> str:
        if self.detail is not None:
            return f"{self.node} has the store that was {self.detail}'s, whose log ends at {count(self.hi)}"
        if self.f == "image":
            return f"the store of {self.node} is replaced by an older image of it, whose log ends at {count(self.hi)}"
        return f"the store of {self.node} is replaced by an empty one"


_RECOVERY = {"empty": "with an empty store", "normal": "after a clean stop", "abnormal": "after a crash"}

_BY_ITSELF = {
    "own": "ended by itself", "disk": "ended, since its disk was failing it", "stuck": "went on without end",
}  # fmt: skip
"""By a crash's status: what nobody from outside was behind."""
