"""Equivalent mutants, whose change is unobservable, listed in a TOML file with a reason each.

An entry identifies its code by text, not by line, so it stays valid while other code moves, and becomes stale when the
code itself changes. Each entry is a table ``[[equivalent]]`` with the keys of :data:`KEYS`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from ...harness.errors import UsageError
from .sampling import Place, Source

OWN = "equivalents.toml"
"""The list for the reference, beside this module."""
KEYS = ("package", "module", "function", "operator", "line", "after", "reason")


class Equivalent(NamedTuple):
    package: str
    module: str
    """Within the package, ``processors.pulling``; empty for the package's own module."""
    function: str
    """Its qualified name; empty in a module's own code."""
    operator: str
    line: str
    after: str
    reason: str

    @property
    def full_module(self) -> str:
        return ".".join(filter(None, (self.package, self.module)))

    def fits(self, place: Place) -> bool:
        said = (self.full_module, self.function, self.operator, self.line, self.after)
        return said == (place.module, place.function, place.operator, place.code, place.after)

    def described(self) -> str:
        return (
            f"{self.full_module}, {self.function or 'its own code'}: {self.operator}, {self.line!r} -> {self.after!r}"
        )


def read(path: Path | None) -> list[Equivalent]:
    """The entries of a file, or of the reference's own; UsageError for a file that is not such a list."""
    name = OWN if path is None else str(path)
    try:
        if path is None:
            text = (resources.files("pairproof.chaos.generic") / OWN).read_text(encoding="utf-8")
        else:
            text = path.read_text(encoding="utf-8")
        entries = tomllib.loads(text).get("equivalent", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as why:
        raise UsageError(f"--equivalents {name}: cannot be read ({why}); name a TOML file") from None
    if not isinstance(entries, list):
        raise UsageError(f"--equivalents {name}: write each entry as a table [[equivalent]]")
    return [_entry(name, number, each) for number, each in enumerate(entries, 1)]


def _entry(name: str, number: int, entry: object) -> Equivalent:
    if (
        not isinstance(entry, dict)
        or set(entry) != set(KEYS)
        or not all(isinstance(each, str) for each in entry.values())
    ):
        raise UsageError(f"--equivalents {name}: entry {number} needs these keys, each a text: {', '.join(KEYS)}")
    if not entry["reason"].strip():
        raise UsageError(f"--equivalents {name}: entry {number} gives no reason; state why it is unobservable")
    return Equivalent(**entry)


def stale(entries: Iterable[Equivalent], found: Sequence[Source]) -> list[Equivalent]:
    """The entries about these packages that match none of their code."""
    entries = [each for each in entries if each.package in {source.package for source in found}]
    places = [
        source.place(number, site)
        for source in found
        if source.module in {each.full_module for each in entries}
        for number, site in enumerate(source.sites())
    ]
    return [each for each in entries if not any(each.fits(place) for place in places)]
