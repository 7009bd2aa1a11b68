"""Draws mutants from a package's sites: a sample in proportion to each file's sites, the same for one seed.

The sample is systematic: sites stand in a row, file by file, both in an order that the seed shuffles, and every k-th
one is taken. So each site has the same chance, and each file gets its share, rounded up or down.
"""

from __future__ import annotations

import ast
import importlib.util
import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from importlib.machinery import ModuleSpec
from pathlib import Path
from random import Random
from typing import NamedTuple

from ...harness.errors import UsageError
from .operators import Site, sites

SOURCE = ".py"


class Place(NamedTuple):
    """One mutant: a site in a module, by its number there, and the result of an operator."""

    package: str
    module: str
    number: int
    file: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    code: str
    always: bool
    """See :class:`pairproof.chaos.generic.operators.Site`."""

    @property
    def key(self) -> str:
        return f"{self.module}:{self.number}"


class Source(NamedTuple):
    package: str
    module: str
    path: Path
    text: str

    def sites(self) -> list[Site]:
        """Its sites; UsageError if Python cannot parse it."""
        try:
            return sites(ast.parse(self.text))
        except (SyntaxError, ValueError) as why:
            where = getattr(why, "lineno", None) or 1
            said = getattr(why, "msg", None) or str(why)
            raise UsageError(
                f"{self.path}:{where}: Python cannot read this file ({said}); fix it, or name packages without it"
            ) from None

    def place(self, number: int, site: Site) -> Place:
        lines = self.text.splitlines()
        text = lines[site.line - 1].strip() if site.line <= len(lines) else ""
        return Place(
            self.package, self.module, number, self.path.name, site.line, site.function, site.operator, site.before(),
            site.after(), text, site.always,
        )  # fmt: skip


def sources(packages: Sequence[str]) -> list[Source]:
    """Every module of these packages that has a source, each once; UsageError for a package without one."""
    found: dict[Path, Source] = {}
    for package in packages:
        modules = list(_modules(package, _spec(package)))
        if not modules:
            raise UsageError(f"--package {package} has no Python source to change; name one that has")
        for module, path in modules:
            real = path.resolve()
            if real not in found:
                found[real] = Source(package, module, path, _read(path))
    return list(found.values())


def _spec(package: str) -> ModuleSpec:
    if not all(part.isidentifier() for part in package.split(".")):
        raise UsageError(
            f"--package {package!r} is not a package's name; write it as in an import, such as acme.broker"
        )
    try:
        spec = importlib.util.find_spec(package)
    except ImportError as why:
        spec, reason = None, str(why)
    except Exception as why:
        # Parents are imported, and their code may do anything.
        raise UsageError(f"--package {package}: its parent cannot be imported ({type(why).__name__}: {why})") from None
    else:
        reason = f"No module named {package!r}"
    if spec is None:
        raise UsageError(f"--package {package}: {reason}; install it, or put its folder on PYTHONPATH")
    return spec


def _modules(package: str, spec: ModuleSpec) -> Iterator[tuple[str, Path]]:
    if spec.submodule_search_locations is None:
        if not spec.origin or not spec.origin.endswith(SOURCE):
            raise UsageError(f"--package {package} has no Python source to change; name one that has")
        yield package, Path(spec.origin)
        return
    for location in sorted(set(spec.submodule_search_locations)):
        yield from _under(package, location)


def _under(package: str, location: str) -> Iterator[tuple[str, Path]]:
    """The modules below a folder; folders without ``__init__.py`` are packages, too, and each link target is visited
    once.
    """
    seen: set[str] = set()
    for folder, folders, files in os.walk(location, followlinks=True):
        if (real := os.path.realpath(folder)) in seen:
            folders[:] = []
            continue
        seen.add(real)
        folders[:] = sorted(each for each in folders if each.isidentifier() and each != "__pycache__")
        inner = Path(folder).relative_to(location).parts
        for name in sorted(files):
            stem = name.removesuffix(SOURCE)
            if name.endswith(SOURCE) and stem.isidentifier():
                last = () if stem == "__init__" else (stem,)
                yield ".".join((package, *inner, *last)), Path(folder) / name


def _read(path: Path) -> str:
    try:
        return importlib.util.decode_source(path.read_bytes())
    except (OSError, SyntaxError, UnicodeDecodeError) as why:
        raise UsageError(f"{path}: cannot be read ({why}); fix it, or name packages without it") from None


def sample(found: Iterable[Source], size: int, seed: str) -> tuple[list[Place], dict[str, int]]:
    """Sites for so many mutants, and each package's number of sites. UsageError if there are none."""
    dice = Random(f"{seed}/generic")
    rows: list[tuple[Source, list[tuple[int, Site]]]] = []
    counts: dict[str, int] = {}
    for source in found:
        numbered = list(enumerate(source.sites()))
        counts[source.package] = counts.get(source.package, 0) + len(numbered)
        dice.shuffle(numbered)
        rows.append((source, numbered))
    empty = [package for package, number in counts.items() if not number]
    if empty:
        raise UsageError(
            f"--package {', '.join(empty)}: nothing there can be changed; name a package with code that runs"
        )
    dice.shuffle(rows)
    row = [(source, number, site) for source, numbered in rows for number, site in numbered]
    size = min(size, len(row))
    # Whole numbers: the same on every machine.
    begin = dice.randrange(len(row))
    taken = [row[(begin + at * len(row)) // size % len(row)] for at in range(size)]
    return sorted(source.place(number, site) for source, number, site in taken), counts


def digest(found: Iterable[Source], *more: object) -> str:
    """A digest of the sources and the other inputs of a measurement."""
    summed = sha256(repr(more).encode())
    for source in sorted(found):
        summed.update(f"{source.module}\0{source.text}\0".encode())
    return summed.hexdigest()[:16]
