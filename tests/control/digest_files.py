"""The two kinds of file that ``control_digests.py`` knows: stored schedules, and digests of what they did."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from projection import Projection, digest

PARTS = Projection._fields
ABOUT = frozenset({"format", "commit", "schedules", "target", "every", "without"})
"""What a file of digests says of itself."""


class Refused(Exception):
    """The request cannot be met; one line that says why."""


class Stored(NamedTuple):
    """One stored schedule. ``target``: its own, where a search drew it for one with a seeded bug; or else empty."""

    number: int
    origin: str
    document: dict[str, Any]
    target: str = ""


class Line(NamedTuple):
    """What one schedule did, in digests."""

    number: int
    origin: str
    digests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.number} {self.origin} {' '.join(self.digests)}"

    @classmethod
    def parse(cls, text: str) -> Line:
        """As it was written."""
        number, origin, *digests = text.split()
        return cls(int(number), origin, tuple(digests))


class Hashed(NamedTuple):
    """A file of digests: what they are of, and the lines by number."""

    about: dict[str, Any]
    lines: dict[int, Line]


def stored(path: Path, every: int = 1) -> Iterator[Stored]:
    """Each ``every``-th stored schedule."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % every == 0:
                yield _stored(path, number, line)


def _stored(path: Path, number: int, line: str) -> Stored:
    try:
        found = json.loads(line)
        return Stored(number, found["origin"], found["schedule"], found.get("target", ""))
    except (ValueError, KeyError, TypeError):
        raise Refused(f"line {number + 1} of {path} is not a stored schedule; draw_schedules.py writes them") from None


def read(path: Path) -> Hashed:
    """A file of digests; what a kill left of its last line does not count."""
    if not path.is_file():
        raise Refused(f"{path} is not a file of digests; make one with: hash {path}")
    head, *lines = path.read_text(encoding="utf-8").split("\n")[:-1] or [""]
    if not head.startswith("# {"):
        raise Refused(f"{path} is not a file of digests, or its head was not written; make it with: hash --anew {path}")
    try:
        found = Hashed(json.loads(head[2:]), {each.number: each for each in map(Line.parse, lines)})
    except ValueError:
        raise Refused(f"{path} has lines that are not digests; make it again with: hash --anew {path}") from None
    lacking = ABOUT - found.about.keys()
    if lacking:
        raise Refused(f"{path} does not say its {', '.join(sorted(lacking))}; make it again with: hash --anew {path}")
    return found


def write(path: Path, found: Hashed) -> None:
    """Write it whole or not at all."""
    text = "".join(f"{each}\n" for each in found.lines.values())
    hidden = path.with_name(f".{path.name}.tmp")
    hidden.write_text(f"# {json.dumps(found.about)}\n{text}", encoding="utf-8")
    hidden.replace(path)


def totals(found: Hashed) -> str:
    """A table: by search how many schedules, and one digest of all their digests, for each part."""
    rows = [f"{'search':10} {'schedules':>9} {' '.join(f'{part:12}' for part in PARTS)}"]
    by: dict[str, list[Line]] = {}
    for each in found.lines.values():
        by.setdefault(each.origin, []).append(each)
    for origin, lines in (*sorted(by.items()), ("all", list(found.lines.values()))):
        sums = (digest(f"{each.number} {each.digests[part]}" for each in lines) for part in range(len(PARTS)))
        rows.append(f"{origin:10} {len(lines):9,} {' '.join(sums)}")
    return "\n".join(rows)


def differing(before: Hashed, after: Hashed) -> list[tuple[int, list[str]]]:
    """Numbers of schedules that both have and that differ, each with the parts in which they do."""
    both = sorted(before.lines.keys() & after.lines.keys())
    pairs = ((number, before.lines[number].digests, after.lines[number].digests) for number in both)
    found = [(number, [p for p, x, y in zip(PARTS, old, new, strict=True) if x != y]) for number, old, new in pairs]
    return [(number, parts) for number, parts in found if parts]


def check_comparable(before: Hashed, after: Hashed) -> None:
    """Refused if digests must differ, or are of other schedules."""
    for name in ("format", "schedules"):
        if before.about[name] != after.about[name]:
            raise Refused(f"one was made with {name} {before.about[name]}, the other with {after.about[name]}")
    if not before.lines.keys() & after.lines.keys():
        raise Refused("they have no schedule in common")
