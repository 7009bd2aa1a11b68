"""A process's log around a moment, by the dates of its lines.

Logs are dated by the wall clock, in a time zone of the writer's choice; the first line shows which, since a log begins
with its trial. Lines without a date belong to the line before them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

BEFORE_MS = AFTER_MS = 1_000
MAX_LINES = 12
MAX_CHARS = 300
MAX_FRAMES = 4
"""Lines without a date that are shown after one with a date: the first ones of a stack trace."""

ZONES_MS = 15 * 60_000
"""Time zones differ by multiples of that."""
_DATE = re.compile(r"^\D{0,2}(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{3}))?")


class Excerpt(NamedTuple):
    lines: Sequence[str]
    remark: str


def around(text: str, began_ms: int | None, t_ms: int) -> Excerpt:
    """The lines of the log ``text`` within a second of the moment ``t_ms`` of a trial that began at ``began_ms`` (Unix
    time); the last lines if that is unknown.
    """
    lines = text.splitlines()
    if not lines:
        return Excerpt([], "It wrote nothing.")
    if began_ms is None:
        return Excerpt(
            _short(lines[-MAX_LINES:]), "When this was written, compared with the rest, is unknown: its last lines."
        )
    entries, wall_ms = _entries(lines, began_ms), began_ms + t_ms
    if not entries:
        return Excerpt(_short(lines[-MAX_LINES:]), "Its lines have no dates: the last ones.")
    near = [entry for when, entry in entries if wall_ms - BEFORE_MS <= when <= wall_ms + AFTER_MS]
    if near:
        shown = [line for entry in near for line in _cut(entry)]
        left = len(shown) - MAX_LINES
        return Excerpt(
            _short(shown[:MAX_LINES]), f"{left} more lines of these two seconds are left out." if left > 0 else ""
        )
    if wall_ms < entries[0][0]:
        return Excerpt([], "What it wrote then was not kept: what is kept of its log begins later.")
    last = next(entry for when, entry in reversed(entries) if when <= wall_ms)
    return Excerpt(_short(_cut(last)), "It wrote nothing within a second of this moment; its last lines before:")


def clock(wall_ms: int) -> str:
    """A moment (Unix time, ms) by the clock."""
    return f"{datetime.fromtimestamp(wall_ms // 1_000, UTC):%Y-%m-%d %H:%M:%S}.{wall_ms % 1_000:03d} UTC"


def _entries(lines: Sequence[str], began_ms: int) -> list[tuple[int, list[str]]]:
    """Lines with dates, each with its time (Unix time, ms) and the following lines without one."""
    found: list[tuple[int, list[str]]] = []
    for line in lines:
        dated = _DATE.match(line)
        if dated is not None:
            try:
                date = datetime.fromisoformat(f"{dated[1]}T{dated[2]}Z")
            except ValueError:
                dated = None
        if dated is not None:
            found.append((int(date.timestamp()) * 1_000 + int(dated[3] or 0), [line]))
        elif found:
            found[-1][1].append(line)
    if not found:
        return []
    zone_ms = round((found[0][0] - began_ms) / ZONES_MS) * ZONES_MS
    return [(when - zone_ms, entry) for when, entry in found]


def _cut(entry: list[str]) -> list[str]:
    left = len(entry) - 1 - MAX_FRAMES
    return entry if left <= 0 else [*entry[: 1 + MAX_FRAMES], f"    ({left} more lines)"]


def _short(lines: Sequence[str]) -> list[str]:
    return [line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…" for line in lines]
