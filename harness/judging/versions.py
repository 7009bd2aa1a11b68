"""Ranges of versions in deviations and scenarios: ``5.5.0``, ``>=4.9.3, <5``, ``4.9.3..4.9.7``.

Parts joined by commas must all hold. A missing last number counts as 0, so ``<5`` is below 5.0.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import eq, ge, gt, le, lt
from typing import NamedTuple

from ..errors import UsageError

NUMBERS = 4
"""Numbers of a version; missing ones are 0."""
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}", re.ASCII)
_PART = re.compile(r"(>=|<=|>|<|)\s*([\d.]+)", re.ASCII)
_COMPARE: dict[str, Callable[[Version, Version], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt, "": eq}

Version = tuple[int, ...]


class Range(NamedTuple):
    text: str
    parts: tuple[tuple[str, Version], ...]

    def holds(self, version: str) -> bool:
        """Whether it contains a version; False for a name that is not a version."""
        known = _numbers(version)
        return known is not None and all(_COMPARE[sign](known, bound) for sign, bound in self.parts)


def parse(text: str) -> Range:
    """Read a range; UsageError, with what is valid, for anything else."""
    low, dots, high = text.partition("..")
    written = f">={low}, <={high}" if dots else text
    parts = []
    for each in written.split(","):
        found = _PART.fullmatch(each.strip())
        bound = _numbers(found[2]) if found else None
        if found is None or bound is None:
            raise UsageError(
                f"{text!r} is not a range of versions; valid are such as 5.5.0, '>=4.9.3, <5', 4.9.3..4.9.7"
            )
        parts.append((found[1], bound))
    return Range(text, tuple(parts))


def _numbers(version: str) -> Version | None:
    if not _VERSION.fullmatch(version):
        return None
    found = tuple(map(int, version.split(".")))
    return found + (0,) * (NUMBERS - len(found))
