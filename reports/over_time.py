"""Throughput and latency of one trial over its time, with the windows of its faults shaded.

Unlike the timeline's this axis is linear: a pause is as wide as it was long. A bar is an interval: sends that were
answered in it, by how. A point is the median of how long the sends took that were asked in an interval, on a
logarithmic scale, and a stroke up to the slowest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log10
from statistics import median

from markupsafe import Markup

from ..harness.history import MS
from ..harness.texts.wording import counted
from .axis import ms, seconds
from .lanes import Bar
from .scene import Scene, Sent
from .svg import Svg

WIDTH, LEFT, RIGHT = 1120, 132, 1106
BINS = 60
HEIGHT, GAP, TOP = 110, 34, 26
TICKS = 6
FLOOR_NS = MS // 10
"""What took less is drawn as if it took this long."""
OUTCOMES = {
    "done": "acknowledged", "late": "stored without the full promise", "refused": "refused",
    "unknown": "unknown to the client",
}  # fmt: skip
"""Of sends that were answered, from below."""


def draw(shown: Scene, label: str) -> Markup | None:
    """Both charts; None where nothing was sent, or no time passed."""
    end = max(shown.times, default=0)
    if not shown.sends or not end:
        return None
    return _Drawing(shown, end, label).draw()


class _Drawing:
    def __init__(self, shown: Scene, end: int, label: str) -> None:
        self.sends, self.faults, self.end = shown.sends, shown.faults, end
        self.svg = Svg(WIDTH, label)

    def x(self, t: int) -> float:
        return LEFT + (RIGHT - LEFT) * min(t, self.end) / self.end

    def draw(self) -> Markup:
        lower = TOP + HEIGHT + GAP
        bottom = lower + HEIGHT
        for bar in self.faults:
            self._shade(bar, bottom)
        self._throughput(TOP)
        self._latency(lower)
        for number in range(TICKS + 1):
            t = self.end * number // TICKS
            self.svg.line(self.x(t), bottom, self.x(t), bottom + 5, "tick")
            # The last one would leave the drawing.
            self.svg.text(self.x(t) - (30 if number == TICKS else 0), bottom + 18, seconds(t) if t else "0", "time")
        return self.svg.done(bottom + 26)

    def _shade(self, bar: Bar, bottom: float) -> None:
        x = self.x(bar.began)
        end = self.x(bar.ended if bar.ended is not None else self.end)
        self.svg.rect(x, TOP, end - x, bottom - TOP, "shade", bar.title)

    def _bin(self, t: int) -> int:
        return min(BINS - 1, BINS * t // self.end)

    def _edges(self, number: int) -> tuple[float, float]:
        wide = (RIGHT - LEFT) / BINS
        return LEFT + wide * number, LEFT + wide * (number + 1)

    def _throughput(self, top: float) -> None:
        counts = [Counter[str]() for _ in range(BINS)]
        for each in self.sends:
            if each.latency is not None:
                counts[self._bin(each.t + each.latency)][each.outcome] += 1
        span_s = self.end / BINS / 1e9
        highest = max(1, *(each.total() for each in counts))
        bottom = top + HEIGHT
        self.svg.text(LEFT - 10, top + 6, "Answers a second", "name")
        for share in (0.0, 0.5, 1.0):
            y = bottom - HEIGHT * share
            self.svg.line(LEFT, y, RIGHT, y, "grid")
            self.svg.text(LEFT - 10, y + (22 if share == 1 else 4), f"{highest * share / span_s:,.0f}", "unit")
        for number, answered in enumerate(counts):
            left, right = self._edges(number)
            y = bottom
            for outcome, words in OUTCOMES.items():
                if count := answered[outcome]:
                    height = HEIGHT * count / highest
                    y -= height
                    title = f"from {ms(self.end * number // BINS)}: {counted(count, 'send')} {words}"
                    self.svg.rect(left, y, right - left - 1, height, f"op {outcome}", title)

    def _latency(self, top: float) -> None:
        slowest = max((each.latency or 0 for each in self.sends), default=0)
        decades = max(1.0, log10(max(slowest, FLOOR_NS * 10) / FLOOR_NS))
        bottom = top + HEIGHT

        def place(ns: float) -> float:
            return bottom - HEIGHT * log10(max(ns, FLOOR_NS) / FLOOR_NS) / decades

        self.svg.text(LEFT - 10, top + 8, "Send latency", "name")
        for power in range(int(decades) + 1):
            y = place(FLOOR_NS * 10.0**power)
            self.svg.line(LEFT, y, RIGHT, y, "grid")
            if y > top + 20:
                self.svg.text(LEFT - 10, y + 4, seconds(FLOOR_NS * 10**power), "unit")
        for number, took in enumerate(latencies(self.sends, self.end)):
            if took:
                left, right = self._edges(number)
                middle, title = (left + right) / 2, _told(took)
                self.svg.line(middle, place(median(took)), middle, place(max(took)), "stem", title)
                self.svg.circle(middle, place(median(took)), 3.5, "dot op done", title)


def latencies(sends: Sequence[Sent], end: int) -> list[list[int]]:
    """By interval, how long the sends took that were asked in it, ns; those never answered are not among them."""
    found: list[list[int]] = [[] for _ in range(BINS)]
    for each in sends:
        if each.latency is not None:
            found[min(BINS - 1, BINS * each.t // end)].append(each.latency)
    return found


def _told(took: Sequence[int]) -> str:
    if len(took) == 1:
        return f"one send, {seconds(took[0])}"
    return f"{len(took)} sends: median {seconds(round(median(took)))}, slowest {seconds(max(took))}"
