"""The timeline's time axis: trial time to pixels, with long idle gaps shortened.

A trial has bursts of events a fraction of a millisecond apart, and seconds of waiting between them; a linear axis would
draw each burst as one line. So a gap much longer than the usual one gets a bounded width and a break with its real
length. Within a burst the axis is linear.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from math import log10
from statistics import median
from typing import NamedTuple

from ..harness.history import MS

USUAL_GAPS = 6
"""A gap is idle time if it is longer than this many median gaps."""

STRETCH = 0.3
"""Extra width, in units of the bound, of a gap ten times as long: longer waits look longer."""

IDLE_SHARE = 0.4
"""The part of the axis that all idle gaps may take."""


class Break(NamedTuple):
    """A shortened idle gap: its pixels, and its real length in ns."""

    x0: float
    x1: float
    ns: int


class Axis:
    """Maps ns since the trial began to x between ``left`` and ``right`` (pixels)."""

    def __init__(self, times: Iterable[int], left: float, right: float) -> None:
        self.left, self.right = left, right
        self._times = sorted({0, *times})
        gaps = [after - before for before, after in pairwise(self._times)]
        bound = USUAL_GAPS * median(gaps) if gaps else 1
        widths = _widths(gaps, bound)
        scale = (right - left) / (sum(widths) or 1)
        self._xs = [left]
        for width in widths:
            self._xs.append(self._xs[-1] + width * scale)
        self.breaks = [
            Break(x0, x1, gap) for gap, (x0, x1) in zip(gaps, pairwise(self._xs), strict=True) if gap > bound
        ]

    def x(self, t: int) -> float:
        """Pixels of time ``t`` (ns), limited to the first and last event."""
        at = bisect_right(self._times, t) - 1
        if at < 0:
            return self.left
        if at + 1 >= len(self._times):
            return self._xs[-1]
        before, after = self._times[at], self._times[at + 1]
        return self._xs[at] + (self._xs[at + 1] - self._xs[at]) * (t - before) / (after - before)

    def ticks(self, apart: float) -> list[tuple[float, int]]:
        """Event times (pixels, ns) to label, from left to right, at least ``apart`` pixels between them."""
        found: list[tuple[float, int]] = []
        for x, t in zip(self._xs, self._times, strict=True):
            if not found or x - found[-1][0] >= apart:
                found.append((x, t))
        return found


def _widths(gaps: list[int], bound: float) -> list[float]:
    widths = [gap if gap <= bound else bound * (1 + STRETCH * log10(gap / bound)) for gap in gaps]
    busy = sum(gap for gap in gaps if gap <= bound)
    idle = sum(widths) - busy
    allowed = busy * IDLE_SHARE / (1 - IDLE_SHARE)
    if busy and idle > allowed:
        widths = [width if gap <= bound else width * allowed / idle for gap, width in zip(gaps, widths, strict=True)]
    return widths


def seconds(ns: int) -> str:
    """A duration in a suitable unit."""
    return f"{ns / 1_000 / MS:.3g} s" if ns >= 1_000 * MS else f"{ns / MS:.3g} ms"
