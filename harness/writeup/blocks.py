"""The parts of a write-up: sections of plain texts, steps, tables and verbatim lines. Writers make files of them.

Texts are plain: a writer escapes them for its format. :func:`private` removes this machine's paths, names and
addresses.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from ..history import Event


class Text(NamedTuple):
    text: str


class Steps(NamedTuple):
    steps: Sequence[str]


class Table(NamedTuple):
    """Rows with as many cells as the head. ``here``: the index of the central row."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    here: int | None = None


class Verbatim(NamedTuple):
    """Lines as they were written, or to be typed."""

    lines: Sequence[str]


class Folded(NamedTuple):
    """Shown when the reader opens ``summary``."""

    summary: str
    inside: Text | Steps | Table | Verbatim


class Drawing(NamedTuple):
    """The trial's timeline, for writers that can draw; ``at``: the ``seq`` of the event to mark."""

    events: Sequence[Event]
    at: int | None
    label: str


Block = Text | Steps | Table | Verbatim | Folded | Drawing


class Section(NamedTuple):
    title: str
    blocks: Sequence[Block]


class WriteUp(NamedTuple):
    """``title`` is a few words, ``claim`` one sentence."""

    title: str
    claim: str
    sections: Sequence[Section]


_PATH = re.compile(r"(?<![\w/.])(?:/[\w.+@~-]+){2,}/?")
_ADDRESS = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\d)")


def private(text: str) -> str:
    """``text`` without this machine's paths (the last part stays), its name, and addresses except loopback's."""
    text = _PATH.sub(lambda found: f"…/{found[0].rstrip('/').rpartition('/')[2]}", text)
    text = _ADDRESS.sub(lambda found: found[0] if _is_anybodys(found[0]) else "ADDRESS", text)
    for name in _names():
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "HOST", text)
    return text


def _is_anybodys(address: str) -> bool:
    try:
        known = ipaddress.IPv4Address(address)
    except ValueError:
        return True
    return known.is_loopback or known.is_unspecified or not known.is_private


@cache
def _names() -> tuple[str, ...]:
    """The names of this machine, the longest first, without those of every machine."""
    own = socket.gethostname()
    return tuple(sorted({own, own.partition(".")[0]} - {"", "localhost"}, key=len, reverse=True))


def mapped(block: Block, change: Callable[[str], str]) -> Block:
    """The block with each of its texts changed; a drawing has none."""
    match block:
        case Text(text):
            return Text(change(text))
        case Steps(items):
            return Steps([change(each) for each in items])
        case Table(head, rows, here):
            return Table(head, [[change(cell) for cell in row] for row in rows], here)
        case Verbatim(lines):
            return Verbatim([change(each) for each in lines])
        case Folded(summary, inside):
            changed = mapped(inside, change)
            assert not isinstance(changed, Folded | Drawing)
            return Folded(change(summary), changed)
    return block


def without_secrets(whole: WriteUp) -> WriteUp:
    """The write-up without any data of this machine."""
    sections = [Section(each.title, [mapped(block, private) for block in each.blocks]) for each in whole.sections]
    return WriteUp(private(whole.title), private(whole.claim), sections)
