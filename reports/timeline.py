"""Draws one trial as SVG over one axis: faults, clients, consumers, HA connections, nodes, syncs, log ends, latency.

Colour is never the only sign: bars and lines have labels, and every element a tooltip. The page's style sheet defines
the classes, so light and dark pages share a drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from ..harness.history import Event
from ..harness.rocketmq import topology
from ..harness.rocketmq.naming import ms
from .axis import Axis, Break, seconds
from .charts import Charts
from .lanes import Bar, Row, Tick
from .scene import Scene, scene
from .svg import Svg, fits

WIDTH = 1120
LEFT, RIGHT = 132, 1106
ROW = 19
BAR = 14
GAP = 14
LABEL, LABEL_ROWS = 15, 6
HEADER = 44
TICKS_APART = 92
MAX_CLIENT_ROWS = 40
MAX_OTHER_ROWS = 12
MAX_GROUP_ROWS = 40
MAX_BREAKS = 16
SIGN = 3.5
"""Half the size of a tick's sign, pixels."""
TICK_TEXT = 62
"""Pixels of the longest time beneath the axis."""

CALLED = {topology.NAMES: "Name server", topology.OTHER: "Other master"}

HATCH = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line x1="0" y1="0" x2="0" y2="6" class="hatch"/></pattern></defs>'
)


def draw(events: Sequence[Event], violated_at: int | None, label: str) -> Markup:
    """The timeline of one trial's events (in ``seq`` order); ``violated_at`` is the seq of the event to mark."""
    return _Drawing(scene(events, violated_at), label).draw()


class _Drawing:
    def __init__(self, shown: Scene, label: str) -> None:
        self.scene = shown
        self.axis = Axis(shown.times, LEFT, RIGHT)
        self.svg = Svg(WIDTH, label)
        self.beneath = Svg(WIDTH, label)
        self.y = 0.0

    def draw(self) -> Markup:
        labels = pack_labels(self.scene.marks, self.axis)
        top = 16 + LABEL * (1 + max((label.row for label in labels), default=0))
        self.y = top
        self._time()
        self._rows("Faults", self.scene.faults, MAX_OTHER_ROWS)
        for process, bars in list(self.scene.clients.items())[:MAX_CLIENT_ROWS]:
            self._rows(f"Client {process}", bars, MAX_CLIENT_ROWS, gap=2)
        self.y += GAP
        for rows in self.scene.groups.values():
            self._lanes(rows)
        self._rows("HA connections", self.scene.links, MAX_OTHER_ROWS)
        for node in (*self.scene.nodes, *self.scene.others):
            self._node(node)
        if self.scene.syncs:
            self.y += GAP / 2
            self._lanes(self.scene.syncs)
        self.y = Charts(self.svg, self.axis, self.scene).draw(self.y + GAP)
        # Shades and marks cross the whole drawing beneath everything: they need its height.
        self._shade(top, self.y)
        self._marks(labels, top, self.y)
        return self.svg.done(self.y + 8, HATCH, self.beneath)

    def _end(self, bar: Bar) -> float:
        return self.axis.x(bar.ended) if bar.ended is not None else RIGHT

    def _shade(self, top: float, bottom: float) -> None:
        for gap in self.axis.breaks:
            self.beneath.rect(gap.x0, top + 22, gap.x1 - gap.x0, bottom - top - 22, "idle", _idle(gap))
        for bar in self.scene.faults:
            x = self.axis.x(bar.began)
            self.beneath.rect(x, top + 22, self._end(bar) - x, bottom - top - 22, "shade", bar.title)

    def _marks(self, labels: Iterable[Label], top: float, bottom: float) -> None:
        for label in labels:
            mark = label.mark
            # The violation's line lies over everything, the others beneath.
            svg = self.svg if mark.kind == "violation" else self.beneath
            x, y = self.axis.x(mark.t), top - 6 - LABEL * label.row
            title = f"{ms(mark.t)}: {mark.title}"
            svg.line(x, y - 8, x, bottom, f"at {mark.kind}", title)
            svg.text(x - 4 if label.leftward else x + 4, y, mark.label, f"label {mark.kind} {label.anchor}", title)

    def _time(self) -> None:
        y = self.y + 16
        self.svg.text(LEFT - 10, y, "Time", "name")
        for x, t in self.axis.ticks(TICKS_APART):
            self.svg.line(x, y + 4, x, y + 9, "tick")
            if x <= RIGHT - TICK_TEXT:
                self.svg.text(x, y, ms(t), "time")
        self.svg.line(LEFT, y + 6, RIGHT, y + 6, "tick")
        for gap in sorted(self.axis.breaks, key=lambda each: -each.ns)[:MAX_BREAKS]:
            text = seconds(gap.ns)
            title = _idle(gap)
            self.svg.path(_zigzag(gap.x0, gap.x1, y + 6), "zigzag", title)
            if fits(text, gap.x1 - gap.x0, 5.6):
                self.svg.text((gap.x0 + gap.x1) / 2, y + 19, text, "gap", title)
        self.y += HEADER

    def _rows(self, name: str, bars: Sequence[Bar], at_most: int, gap: float = GAP) -> None:
        rows = pack(bars, self.axis)
        if not rows:
            return
        self.svg.text(LEFT - 10, self.y + BAR - 2, name, "name")
        for row in rows[:at_most]:
            for bar, room in row:
                self._bar(bar, room)
            self.y += ROW
        if len(rows) > at_most:
            self.svg.text(LEFT + 4, self.y - 4, f"{len(rows) - at_most} more rows not drawn", "gap begin")
        self.y += gap

    def _bar(self, bar: Bar, room: float) -> None:
        x, end = self.axis.x(bar.began), self._end(bar)
        self.svg.rect(x, self.y, end - x, BAR, bar.kind, bar.title, 3)
        if fits(bar.label, end - x - 8):
            kind = "on over" if bar.kind.startswith("down") else "on"
            self.svg.text(x + 5, self.y + BAR - 3, bar.label, kind, bar.title)
        elif fits(bar.label, room - 6):
            self.svg.text(max(end, x + 1.5) + 4, self.y + BAR - 3, bar.label, "beside", bar.title)

    def _lanes(self, rows: Sequence[Row]) -> None:
        for row in rows[:MAX_GROUP_ROWS]:
            self.svg.text(LEFT - 10, self.y + BAR - 3, row.name, "name" if row.leads else "part")
            ticks = self._beside(row.ticks)
            if not row.bars:
                self.svg.line(LEFT, self.y + BAR / 2, RIGHT, self.y + BAR / 2, "grid")
            for bar in row.bars:
                self._held(bar, ticks)
            self._ticks(ticks)
            self.y += ROW
        if len(rows) > MAX_GROUP_ROWS:
            self.svg.text(LEFT + 4, self.y + 8, f"{len(rows) - MAX_GROUP_ROWS} more rows not drawn", "gap begin")
            self.y += ROW
        self.y += GAP / 2

    def _beside(self, ticks: Sequence[Tick]) -> list[tuple[float, Tick]]:
        found: list[tuple[float, Tick]] = []
        for tick in ticks:
            same = bool(found) and found[-1][1].t == tick.t
            found.append((found[-1][0] + 2 * SIGN + 2 if same else self.axis.x(tick.t), tick))
        return found

    def _held(self, bar: Bar, ticks: Sequence[tuple[float, Tick]]) -> None:
        """A bar, with its label in the first gap between its signs that is wide enough."""
        x, end = self.axis.x(bar.began), self._end(bar)
        self.svg.rect(x, self.y, end - x, BAR, bar.kind, bar.title, 3)
        taken = [(at - SIGN, at + SIGN + 6 + 6.2 * len(tick.label)) for at, tick in ticks if x <= at <= end]
        begins = [x + 2, *(right for _, right in taken)]
        ends = [*(left for left, _ in taken), end]
        for begin, until in zip(begins, ends, strict=True):
            if fits(bar.label, until - begin - 8):
                self.svg.text(begin + 4, self.y + BAR - 3, bar.label, "on", bar.title)
                return

    def _ticks(self, ticks: Sequence[tuple[float, Tick]]) -> None:
        middle = self.y + BAR / 2
        for number, (x, tick) in enumerate(ticks):
            title = f"{ms(tick.t)}: {tick.title}"
            for line in sign(tick.kind, x, middle):
                self.svg.path(line, f"sign {tick.kind}", title)
            if tick.kind in ("first", "aside"):
                self.svg.circle(x, middle, SIGN, f"sign {tick.kind}", title)
            room = (ticks[number + 1][0] if number + 1 < len(ticks) else RIGHT) - x - 2 * SIGN
            if tick.label and fits(tick.label, room):
                self.svg.text(x + SIGN + 2, self.y + BAR - 3, tick.label, "on", title)

    def _node(self, node: str) -> None:
        self.svg.text(LEFT - 10, self.y + BAR - 2, f"{CALLED.get(node, node.capitalize())} runs", "name")
        self.svg.rect(LEFT, self.y, RIGHT - LEFT, BAR, "up", f"{node} is up", 3)
        for bar in self.scene.down[node]:
            self._bar(bar, 0)
        self.y += ROW


def sign(kind: str, x: float, y: float) -> list[list[tuple[float, float]]]:
    """The lines of a tick's sign: a diamond for again, a stroke for usual, a cross for failed; none for circles."""
    d = SIGN
    if kind == "again":
        return [[(x, y - d), (x + d, y), (x, y + d), (x - d, y), (x, y - d)]]
    if kind == "usual":
        return [[(x, y - d - 1), (x, y + d + 1)]]
    if kind == "failed":
        return [[(x - d, y - d), (x + d, y + d)], [(x - d, y + d), (x + d, y - d)]]
    return []


def pack(bars: Sequence[Bar], axis: Axis) -> list[list[tuple[Bar, float]]]:
    """Bars in rows so that none overlaps; each with the free pixels to its right."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda each: each.began):
        x = axis.x(bar.began)
        for row in rows:
            last = row[-1]
            if last.ended is not None and axis.x(last.ended) + 3 <= x:
                row.append(bar)
                break
        else:
            rows.append([bar])
    return [_with_room(row, axis) for row in rows]


def _with_room(row: list[Bar], axis: Axis) -> list[tuple[Bar, float]]:
    edges = [*(axis.x(bar.began) for bar in row[1:]), float(RIGHT)]
    ends = [axis.x(bar.ended) if bar.ended is not None else RIGHT for bar in row]
    return [(bar, edge - end) for bar, edge, end in zip(row, edges, ends, strict=True)]


class Label(NamedTuple):
    """A mark with its label's row, counted from the axis up, and its side of the line."""

    mark: Tick
    row: int
    leftward: bool

    @property
    def anchor(self) -> str:
        return "end" if self.leftward else "begin"


def pack_labels(marks: Sequence[Tick], axis: Axis) -> list[Label]:
    """Rows for the marks' labels, the violation's first; without room, the last row is shared."""
    rows: list[list[tuple[float, float]]] = [[] for _ in range(LABEL_ROWS)]
    found = []
    for mark in sorted(marks, key=lambda each: (each.kind != "violation", each.t)):
        x, width = axis.x(mark.t), 10 + 6.8 * len(mark.label)
        leftward = x + width > WIDTH
        lo, hi = (x - width, x) if leftward else (x, x + width)
        free = (row for row, taken in enumerate(rows) if all(hi <= left or right <= lo for left, right in taken))
        row = next(free, LABEL_ROWS - 1)
        rows[row].append((lo, hi))
        found.append(Label(mark, row, leftward))
    return found


def _idle(gap: Break) -> str:
    return f"{seconds(gap.ns)} without an event, drawn shorter than it is"


def _zigzag(x0: float, x1: float, y: float) -> list[tuple[float, float]]:
    middle = (x0 + x1) / 2
    return [(middle - 5, y), (middle - 2.5, y - 4), (middle, y + 4), (middle + 2.5, y - 4), (middle + 5, y)]
