"""What became of nodes: their settings, starts, ends and stores."""

from __future__ import annotations

from typing import Literal

from pairproof.harness.history import Event


class Config(Event):
    """Settings of a node, once, before its first start."""

    __slots__ = ()
    node: str
    detail: str
    """JSON: the system's own keys and values."""


class Start(Event):
    """A node came up."""

    __slots__ = ()
    node: str
    incarnation: int
    lo: int | None
    """Where its log begins, after recovery; a name server has none."""
    hi: int | None
    """Where it ends."""
    f: Literal["normal", "abnormal", "empty"]
    """How it recovered."""


class Crash(Event):
    """A node went down without its will."""

    __slots__ = ()
    node: str
    incarnation: int
    f: Literal["process", "machine"]
    """What went down."""
    value: int
    """Bytes of its log that were lost."""
    status: Literal["lied", "own", "disk", "stuck"] | None
    """lied: its disk had called durable what is lost; own: it ended by itself; disk: so it did, and its disk was
    failing it; stuck: it went on without end, and was ended."""
    detail: str | None
    """Of the last three: what it said."""


class Abort(Event):
    """A node that was down did not come up."""

    __slots__ = ()
    node: str
    incarnation: int
    f: Literal["refused", "ended", "stuck"]
    """refused: it declares that it will not start on its store; ended: it ended in another way; stuck: it went on
    without end, and was ended."""
    status: Literal["disk"] | None
    """disk: its disk was failing it."""
    detail: str
    """What it said."""


class Stop(Event):
    """A node ended cleanly."""

    __slots__ = ()
    node: str
    incarnation: int


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
