"""Formats numbers, percentages, durations and dates for pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def number(value: Any) -> str:
    """A whole number with separators; other values as text."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def percent(value: float) -> str:
    """To two digits: percentages rest on few trials."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def chance(value: float) -> str:
    """A probability in percent; tiny ones are equal."""
    return "below 0.01 %" if value < 0.0001 else f"{percent(100 * value)} %"


def short(value: int) -> str:
    """A count in at most four characters: 999, 12k, 3M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value // size}{unit}"
    return str(value)


def span(seconds: float | int | None) -> str:
    """A duration in words."""
    if seconds is None:
        return "unknown"
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} seconds"


def when(began: object) -> str:
    """A run's start to the minute; unchanged unless it is an ISO 8601 time."""
    try:
        moment = datetime.fromisoformat(str(began))
    except ValueError:
        return str(began or "unknown")
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment.tzinfo else f"{moment:%Y-%m-%d %H:%M}"
