"""What a timeline's rows are made of: bars, which last, and ticks, which are moments.

Times are ns since the trial began. Something that had not ended when the history did has no end.
"""

from typing import NamedTuple


class Bar(NamedTuple):
    """Something that lasted. ``kind`` is its class in the drawing, ``label`` stands on it, ``title`` explains it."""

    began: int
    ended: int | None
    kind: str
    label: str
    title: str


class Tick(NamedTuple):
    """A moment. ``kind``: first (a dot), again (a diamond), usual (a stroke), aside (a ring), failed (a cross)."""

    t: int
    kind: str
    label: str
    title: str


class Row(NamedTuple):
    """Bars that do not overlap, and ticks over them. ``leads``: its name is a heading, not that of a part."""

    name: str
    leads: bool
    bars: list[Bar]
    ticks: list[Tick]
