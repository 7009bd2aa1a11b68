"""The charts beneath a timeline's rows: log ends, slave lag, latency of each send.

They share the timeline's axis and its shaded fault windows. Slaves differ by dashes and by names at the lines' ends;
outcomes of sends by shapes. Tooltips explain both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import log10

from ..harness.history import MS
from .axis import Axis, seconds
from .scene import Scene, Sent, Step
from .svg import Svg

ENDS, LAG, LATENCY = 170, 84, 96
HEADROOM = 12
GAP = 22
DOT = 4
LEAST_NS = MS // 10
"""Shorter times are drawn with this length: the scale is logarithmic."""
LIFT = 2
"""Offset of each further slave's line, pixels: equal slaves would hide each other."""

LOOKS = ("master", "slave", "slave2", "slave3")

Scale = Callable[[int], float]


class Charts:
    """Draws into ``svg`` between ``axis.left`` and ``axis.right``; every method returns its bottom."""

    def __init__(self, svg: Svg, axis: Axis, shown: Scene) -> None:
        self.svg = svg
        self.axis = axis
        self.scene = shown
        self.looks = {node: LOOKS[number % len(LOOKS)] for number, node in enumerate(shown.nodes)}

    def draw(self, top: float) -> float:
        bottom = self.log_ends(top)
        if any(step.bytes for steps in self.scene.lag.values() for step in steps):
            bottom = self.lag(bottom + GAP)
        if self.scene.sends:
            bottom = self.latency(bottom + GAP)
        return bottom

    def log_ends(self, top: float) -> float:
        height_of = self._scale("Log end, bytes", top, ENDS, most(self.scene.ends))
        for node, steps in self.scene.reported.items():
            self._line(steps, height_of, "reported", f"the {node}'s reports to the master")
        for row, (node, steps) in enumerate(self.scene.ends.items()):
            lift = LIFT * max(0, row - 1)
            self._line(steps, height_of, f"logend {self.looks[node]}", f"end of the {node}'s log", lift)
        return top + ENDS

    def lag(self, top: float) -> float:
        height_of = self._scale("Lag, bytes", top, LAG, most(self.scene.lag))
        for row, (node, steps) in enumerate(self.scene.lag.items()):
            self._line(
                steps,
                height_of,
                f"logend {self.looks[node]}",
                f"lag of the {node}'s log",
                LIFT * row,
            )
            if len(self.scene.lag) > 1:
                self.svg.text(self.axis.left + 6 + 64 * row, top + 8, node, f"label {self.looks[node]}")
        return top + LAG

    def _scale(self, name: str, top: float, height: float, highest: int) -> Scale:
        bottom = top + height
        self.svg.text(self.axis.left - 10, top + 8, name, "name")
        for share in (0.0, 0.5, 1.0):
            y = bottom - (height - HEADROOM) * share
            self.svg.line(self.axis.left, y, self.axis.right, y, "grid")
            self.svg.text(self.axis.left - 10, y + (14 if share == 1 else 4), f"{round(highest * share):,}", "unit")
        # A slave may report more than any log holds: that line is cut at the chart's edge.
        return lambda size: bottom - (height - HEADROOM) * min(size / highest, 1.05)

    def _line(self, steps: Sequence[Step], height_of: Scale, kind: str, title: str, lift: int = 0) -> None:
        points: list[tuple[float, float]] = []
        for step in steps:
            x = self.axis.x(step.t)
            if points:
                points.append((x, points[-1][1]))
            if step.bytes is None:
                # The node is down: its line ends here and resumes at its start.
                self.svg.path(points, kind, title)
                points = []
            else:
                points.append((x, height_of(step.bytes) - lift))
        if points:
            self.svg.path([*points, (self.axis.right, points[-1][1])], kind, title)

    def latency(self, top: float) -> float:
        bottom = top + LATENCY
        slowest = max((each.latency or 0 for each in self.scene.sends), default=0)
        decades = max(1.0, log10(max(slowest, LEAST_NS * 10) / LEAST_NS))

        def height_of(ns: int) -> float:
            return bottom - (LATENCY - HEADROOM) * log10(max(ns, LEAST_NS) / LEAST_NS) / decades

        self.svg.text(self.axis.left - 10, top + 8, "Send latency", "name")
        for power in range(int(decades) + 1):
            ns = LEAST_NS * 10**power
            self.svg.line(self.axis.left, height_of(ns), self.axis.right, height_of(ns), "grid")
            if height_of(ns) > top + 20:
                self.svg.text(self.axis.left - 10, height_of(ns) + 4, seconds(ns), "unit")
        for each in self.scene.sends:
            self._stem(each, bottom, top + HEADROOM if each.latency is None else height_of(each.latency))
        return bottom

    def _stem(self, send: Sent, bottom: float, y: float) -> None:
        x = self.axis.x(send.t)
        self.svg.line(x, bottom, x, y, f"stem {send.outcome}", send.title)
        if send.outcome == "done":
            self.svg.circle(x, y, DOT, "dot op done", send.title)
        else:
            for line in shape(send.outcome, x, y):
                self.svg.path(line, f"dot op {send.outcome}", send.title)


def shape(outcome: str, x: float, y: float) -> list[list[tuple[float, float]]]:
    """The lines of a send's sign: late a triangle, refused a cross, unknown a diamond, open an arrow up."""
    d = DOT + 0.5
    if outcome == "late":
        return [[(x - d, y + d), (x, y - d), (x + d, y + d), (x - d, y + d)]]
    if outcome == "refused":
        return [[(x - d, y - d), (x + d, y + d)], [(x - d, y + d), (x + d, y - d)]]
    if outcome == "unknown":
        corners = [(x, y - d), (x + d, y), (x, y + d), (x - d, y), (x, y - d)]
        return [list(pair) for pair in pairwise(corners)]
    return [[(x - d, y + d), (x, y - d), (x + d, y + d)]]


def most(lines: Mapping[str, Sequence[Step]]) -> int:
    """The highest value of several lines, at least 1."""
    return max((step.bytes or 0 for steps in lines.values() for step in steps), default=0) or 1
