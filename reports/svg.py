"""A minimal SVG writer: elements with classes, rounded coordinates, escaped texts. The page sets the colours."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

Number = int | float


class Svg:
    """An unfinished drawing. Elements appear in the order of their addition; ``title`` is a tooltip."""

    def __init__(self, width: Number, label: str) -> None:
        self.width = width
        self.label = label
        self._parts: list[str] = []

    def rect(
        self, x: Number, y: Number, width: Number, height: Number, kind: str, title: str = "", round_by: Number = 0
    ) -> None:
        """A rectangle; at least 1.5 px wide, so that instantaneous events are visible."""
        corners = f' rx="{_n(round_by)}"' if round_by else ""
        at = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 1.5))}" height="{_n(height)}"'
        self._add("rect", f"{at}{corners}", kind, title)

    def line(self, x1: Number, y1: Number, x2: Number, y2: Number, kind: str, title: str = "") -> None:
        self._add("line", f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"', kind, title)

    def path(self, points: Iterable[tuple[Number, Number]], kind: str, title: str = "") -> None:
        """Straight lines from point to point; nothing for fewer than two."""
        found = list(points)
        if len(found) > 1:
            steps = " L".join(f"{_n(x)} {_n(y)}" for x, y in found)
            self._add("path", f'd="M{steps}"', kind, title)

    def circle(self, x: Number, y: Number, radius: Number, kind: str, title: str = "") -> None:
        self._add("circle", f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"', kind, title)

    def text(self, x: Number, y: Number, text: str, kind: str = "", title: str = "") -> None:
        """A line of text on the baseline ``y``."""
        hover = f"<title>{escape(title)}</title>" if title else ""
        self._parts.append(f'<text x="{_n(x)}" y="{_n(y)}" class="{escape(kind)}">{hover}{escape(text)}</text>')

    def _add(self, name: str, attributes: str, kind: str, title: str) -> None:
        hover = f"<title>{escape(title)}</title>" if title else ""
        end = f">{hover}</{name}>" if hover else "/>"
        self._parts.append(f'<{name} {attributes} class="{escape(kind)}"{end}')

    def done(self, height: Number, definitions: str = "", beneath: Svg | None = None) -> Markup:
        """The whole element, over the elements of ``beneath``.

        ``definitions`` is our SVG text (patterns), never a user's.
        """
        parts = [*(beneath._parts if beneath is not None else ()), *self._parts]
        box = f"0 0 {_n(self.width)} {_n(height)}"
        head = f'<svg viewBox="{box}" width="{_n(self.width)}" role="img" aria-label="{escape(self.label)}">'
        return Markup(head + definitions + "".join(parts) + "</svg>")


def _n(number: Number) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")


def fits(text: str, width: Number, character_px: float = 6.2) -> bool:
    """Whether a text of the timeline's size fits; an estimate, since only the browser knows the font."""
    return len(text) * character_px <= width
