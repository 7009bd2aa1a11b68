"""The elements of a timeline's rows: bars, which last, and ticks, which are moments.

Times are ns since the trial began. An element without an end was open when the history ended.
"""

from typing import NamedTuple


class Bar(NamedTuple):
    """A duration. ``kind`` is its class in the drawing, ``label`` its text, ``title`` its tooltip."""

    began: int
    ended: int | None
    kind: str
    label: str
    title: str


class Tick(NamedTuple):
    """A moment. ``kind``: first (a dot), again (a diamond), usual (a stroke), aside (a ring), failed (a cross).
    A mark over all rows is of kind violation, crash, start or mark.
    """

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
