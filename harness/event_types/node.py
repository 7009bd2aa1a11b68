"""Nodes: settings, starts, ends and stores."""

from __future__ import annotations

from typing import Literal

from ..history import Event
from .base import OfNode
from .text import The, amount, count, span

UNKNOWN = "unknown"
"""The recovery of a node that is observed from outside: only whole records of its log are known."""


class Config(Event):
    """Settings of a node, once, before its first start."""

    node: str
    detail: str
    """JSON: the system's own keys and values."""

    def words(self, the: The) -> str:
        return f"{self.node} is configured"


class Start(OfNode):
    """A node started."""

    lo: int | None
    """The beginning of its log, after recovery; a name server has none."""
    hi: int | None
    """The end of its log."""
    f: Literal["normal", "abnormal", "empty", "unknown"]
    """The kind of its recovery."""

    def words(self, the: The) -> str:
        log = "" if self.hi is None else f", log {span(self)}"
        return f"{self.node} starts {_RECOVERY.get(self.f, '')}{log}"


class Crash(OfNode):
    """A node ended without an orderly stop."""

    f: Literal["process", "machine"]
    """The ended process or machine."""
    value: int
    """Bytes of its log that were lost."""
    status: Literal["lied", "own", "disk", "stuck"] | None
    """Lied: its disk had reported lost bytes as durable; own: it ended by itself; disk: the same, on a failing disk;
    stuck: it ended in a loop."""
    detail: str | None
    """For the last three: its output."""

    def words(self, the: The) -> str:
        if self.status in _BY_ITSELF:
            return f"{self.node} {_BY_ITSELF[self.status]}: {self.detail}"
        how = {"machine": "lost power", "process": "was killed"}.get(self.f, "went down")
        lied = ", which its disk had called durable" if self.status == "lied" else ""
        return f"{self.node} {how}; {amount(self.value or 0)} of its log lost{lied}"


class Abort(OfNode):
    """A node that was down failed to start."""

    f: Literal["refused", "ended", "stuck"]
    """Refused: it does not accept its store; ended: any other exit; stuck: it looped and was ended."""
    status: Literal["disk"] | None
    """disk: its disk was failing."""
    detail: str
    """Its output."""

    def words(self, the: The) -> str:
        how = {"refused": "refuses its store", "stuck": "starts without end"}.get(self.f, "does not come up")
        disk = "; its disk is failing it" if self.status == "disk" else ""
        return f"{self.node} {how}: {self.detail}{disk}"


class Stop(OfNode):
    """A node was stopped, and ended cleanly, unless its crash follows: a fault at a point of the stop."""

    value: int | None
    """The duration, ms, if it takes time."""

    def words(self, the: The) -> str:
        return f"{self.node} stops"


class Wipe(Event):
    """The node's store was replaced while it was down."""

    node: str
    f: Literal["empty", "image"]
    """image: an older image of it."""
    hi: int
    """The log end of the new store."""
    detail: str | None
    """The store's previous node, if it was another."""

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
"""Endings by a crash's status that no operation caused."""
