"""Draws one trial as SVG: clients' operations, faults, HA connections, nodes and both log ends over one time axis.

Nothing is left to colour alone: bars carry words, lines are labelled, and hovering explains every element. What the
classes look like is said in the page's style sheet, so light and dark pages share a drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

from pairproof.harness.history import Event
from pairproof.reports.axis import Axis, ms, seconds
from pairproof.reports.scene import NODES, Bar, Mark, Scene, Step, scene
from pairproof.reports.svg import Svg, fits

WIDTH = 1120
LEFT, RIGHT = 132, 1106
ROW = 19
BAR = 14
GAP = 14
CHART = 170
LABEL_ROWS = 4
TICKS_APART = 92
MAX_CLIENT_ROWS = 40
MAX_OTHER_ROWS = 12

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
        top = 16 + 15 * (1 + max((row for _, row in labels), default=0))
        self.y = top
        self._time()
        self._rows("Faults", self.scene.faults, MAX_OTHER_ROWS)
        for process, bars in list(self.scene.clients.items())[:MAX_CLIENT_ROWS]:
            self._rows(f"Client {process}", bars, MAX_CLIENT_ROWS, gap=2)
        self.y += GAP
        self._rows("HA connections", self.scene.links, MAX_OTHER_ROWS)
        for node in NODES:
            self._node(node)
        self.y += GAP
        self._chart()
        # Shades and marks cross the whole drawing, beneath everything: they come last, when its height is known.
        self._shade(top, self.y)
        self._marks(labels, top, self.y)
        return self.svg.done(self.y + 8, HATCH, self.beneath)

    def _end(self, bar: Bar) -> float:
        return self.axis.x(bar.ended) if bar.ended is not None else RIGHT

    def _shade(self, top: float, bottom: float) -> None:
        for gap in self.axis.breaks:
            self.beneath.rect(gap.x0, top + 24, gap.x1 - gap.x0, bottom - top - 24, "idle")
        for bar in self.scene.faults:
            x = self.axis.x(bar.began)
            self.beneath.rect(x, top + 24, self._end(bar) - x, bottom - top - 24, "shade", bar.title)

    def _marks(self, labels: Iterable[tuple[Mark, int]], top: float, bottom: float) -> None:
        for mark, row in sorted(labels, key=lambda each: each[0].kind == "violation"):
            x = self.axis.x(mark.t)
            y = top - 6 - 15 * row
            self.beneath.line(x, y - 8, x, bottom, f"at {mark.kind}", f"{ms(mark.t)}: {mark.title}")
            where = "end" if x + 7 * len(mark.label) > WIDTH else "begin"
            shift = -4 if where == "end" else 4
            self.beneath.text(x + shift, y, mark.label, f"label {mark.kind} {where}", f"{ms(mark.t)}: {mark.title}")

    def _time(self) -> None:
        y = self.y + 16
        self.svg.text(LEFT - 10, y, "Time", "name")
        for x, t in self.axis.ticks(TICKS_APART):
            self.svg.line(x, y + 4, x, y + 9, "tick")
            self.svg.text(x, y, ms(t), "time end" if x > RIGHT - TICKS_APART / 2 else "time")
        self.svg.line(LEFT, y + 6, RIGHT, y + 6, "tick")
        for gap in self.axis.breaks:
            text = seconds(gap.ns)
            title = f"{text} without an event, drawn shorter than it is"
            self.svg.path(_zigzag(gap.x0, gap.x1, y + 6), "zigzag", title)
            if fits(text, gap.x1 - gap.x0, 5.6):
                self.svg.text((gap.x0 + gap.x1) / 2, y + 19, text, "gap", title)
        self.y += 34

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
            self.svg.text(x + 5, self.y + BAR - 3, bar.label, "on", bar.title)
        elif fits(bar.label, room - 6):
            self.svg.text(max(end, x + 1.5) + 4, self.y + BAR - 3, bar.label, "beside", bar.title)

    def _node(self, node: str) -> None:
        self.svg.text(LEFT - 10, self.y + BAR - 2, f"{node.capitalize()} runs", "name")
        self.svg.rect(LEFT, self.y, RIGHT - LEFT, BAR, "up", f"{node} is up", 3)
        for bar in self.scene.down[node]:
            self._bar(bar, 0)
        self.y += ROW

    def _chart(self) -> None:
        top, bottom = self.y, self.y + CHART
        steps = [each for lines in (*self.scene.ends.values(), self.scene.reported) for each in lines]
        most = max((each.bytes or 0 for each in steps), default=0) or 1
        self.svg.text(LEFT - 10, top + 8, "Log end, bytes", "name")
        for share in (0.0, 0.5, 1.0):
            y = bottom - (CHART - 12) * share
            self.svg.line(LEFT, y, RIGHT, y, "grid")
            self.svg.text(LEFT - 10, y + (14 if share == 1 else 4), f"{round(most * share):,}", "unit")

        def place(step: Step) -> float:
            return bottom - (CHART - 12) * (step.bytes or 0) / most

        self._line(self.scene.reported, place, "reported", "what the slave has reported to the master")
        for node in NODES:
            self._line(self.scene.ends[node], place, f"end {node}", f"where the {node}'s log ends")
        self.y = bottom

    def _line(self, steps: Sequence[Step], place: Callable[[Step], float], kind: str, title: str) -> None:
        points: list[tuple[float, float]] = []
        for step in steps:
            x = self.axis.x(step.t)
            if points:
                points.append((x, points[-1][1]))
            if step.bytes is None:
                # The node is down: its line ends here and begins anew when it starts.
                self.svg.path(points, kind, title)
                points = []
            else:
                points.append((x, place(step)))
        if points:
            self.svg.path([*points, (RIGHT, points[-1][1])], kind, title)


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


def pack_labels(marks: Sequence[Mark], axis: Axis) -> list[tuple[Mark, int]]:
    """Marks with the row that their label stands in, counted from the axis up; labels that find no room share one."""
    taken = [float("-inf")] * LABEL_ROWS
    found = []
    for mark in sorted(marks, key=lambda each: (each.t, each.kind != "violation")):
        x = axis.x(mark.t)
        row = next((row for row, until in enumerate(taken) if until <= x), LABEL_ROWS - 1)
        taken[row] = x + 10 + 6.6 * len(mark.label)
        found.append((mark, row))
    return found


def _zigzag(x0: float, x1: float, y: float) -> list[tuple[float, float]]:
    middle = (x0 + x1) / 2
    return [(middle - 5, y), (middle - 2.5, y - 4), (middle, y + 4), (middle + 2.5, y - 4), (middle + 5, y)]
