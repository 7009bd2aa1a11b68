"""Text helpers of several event types: numbers, ranges, JSON details, and names of calls."""

from __future__ import annotations

import json
from collections.abc import Callable

from ..history import Event
from ..texts.wording import counted

The = Callable[[str | None], str]
"""The name of a node in a system's sentences: ``slave`` is "the slave"."""

_OUTCOMES = {"ok": "answered", "fail": "refused with", "info": "outcome unknown:"}


def count(number: int | None) -> str:
    """A number of things, or an offset."""
    return "unknown" if number is None else f"{number:,}"


def amount(size: int | None) -> str:
    """A number of bytes."""
    return "unknown size" if size is None else counted(size, "byte")


def span(event: Event) -> str:
    """The bytes of a log that the event concerns."""
    if event.lo is None or event.hi is None:
        return "at an unknown offset"
    return f"[{event.lo:,}, {event.hi:,})"


def plain(detail: str | None) -> str:
    """A JSON object as ``name value, …``; any other text unchanged."""
    try:
        found = json.loads(detail or "{}")
    except ValueError:
        return detail or ""
    if not isinstance(found, dict):
        return str(found)
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.items())


def client(event: Event) -> str:
    """The caller: a consumer of a group, or a plain client."""
    return f"client {event.process}" if event.group is None else f"consumer {event.process} of {event.group}"


def status(event: Event) -> str:
    """The status of a call that ended: code 0 is named for sends, and means success for all others."""
    return "OK" if event.status == "PUT_OK" and event.f not in ("send", "produce") else str(event.status)


def outcome(event: Event) -> str:
    """The end of a call, to follow its subject."""
    if event.kind == "invoke":
        return "never answered"
    return "was refused a connection" if event.status == "refused" else f"{_OUTCOMES[event.kind]} {status(event)}"
