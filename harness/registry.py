"""Find labs, tools, targets, faults, laws and commands by name, through entry points. Packages meet only here.

A third party registers in the same groups. An object is imported when it is first requested. If the environment
variable ``PAIRPROOF_PLUGINS`` is set, only plug-ins of its distributions (separated by commas) are found; none if it is
empty. Processes that play trials inherit it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from importlib.resources.abc import Traversable
from types import ModuleType

from .errors import UsageError, meant
from .renamed import Moved, current

DISTRIBUTION = "pairproof"
PLUGINS = "PAIRPROOF_PLUGINS"
GROUPS = (
    "labs", "tools", "targets", "systems", "faults", "operations", "event_types", "laws", "mutants", "scenarios",
    "deviations", "commands", "writers", "families",
)  # fmt: skip
sys.meta_path.append(Moved(__package__ or ""))
FORMER = {"event_types": ("kinds",)}
"""Old names of groups, in which third parties may still register."""


@cache
def _group(group: str) -> dict[str, EntryPoint]:
    assert group in GROUPS, group
    found = sorted(
        (each for key in (group, *FORMER.get(group, ())) for each in entry_points(group=f"pairproof.{key}")),
        key=lambda each: each.name,
    )
    return {each.name: each for each in found if _wanted(each)}


def _wanted(found: EntryPoint) -> bool:
    plugins = os.environ.get(PLUGINS)
    return plugins is None or (found.dist is not None and found.dist.name in (DISTRIBUTION, *plugins.split(",")))


def names(group: str) -> list[str]:
    """Registered names of a group, sorted."""
    return list(_group(group))


class _Here:
    dist = None

    def __init__(self, name: str, found: object) -> None:
        self.name = name
        self.module = str(getattr(found, "__module__", ""))
        self._found = found

    def load(self) -> object:
        return self._found


@contextlib.contextmanager
def added(group: str, found: Mapping[str, object]) -> Iterator[None]:
    """Register these in this process for the ``with`` block. UsageError for a name that is taken."""
    known = _group(group)
    if taken := sorted(set(found) & set(known)):
        raise UsageError(f"{group[:-1]} {', '.join(taken)} is registered already; give yours another name")
    known.update({name: _Here(name, each) for name, each in found.items()})  # type: ignore[misc]
    try:
        yield
    finally:
        for name in found:
            del known[name]
        find.cache_clear()
        own.cache_clear()


@cache
def own(group: str) -> frozenset[str]:
    """The names of a group that pairproof itself registers."""
    return frozenset(name for name, each in _group(group).items() if each.dist and each.dist.name == DISTRIBUTION)


def plugins(*groups: str) -> list[str]:
    """Distributions of third parties with entry points in one of these groups, with their versions."""
    found = [each.dist for group in groups for each in _group(group).values()]
    return sorted({f"{each.name} {each.version}" for each in found if each and each.name != DISTRIBUTION})


@cache
def find(group: str, name: str) -> object:
    """The object registered as ``name``; otherwise a :class:`UsageError` that lists the valid names."""
    found = _group(group).get(current(group, name))
    if found is None:
        raise UsageError(f"unknown {group[:-1]} {name!r}{meant(name, names(group))}")
    return found.load()


def described(group: str, name: str) -> str:
    """The first words of the module that registers ``name``, as a description."""
    find(group, name)
    return " ".join((sys.modules[_group(group)[name].module].__doc__ or "").replace("``", "").split())


@cache
def files(group: str, *endings: str) -> Mapping[str, Traversable]:
    """The data files of a group's packages, by name without the ending; UsageError for two files of a name."""
    found: dict[str, Traversable] = {}
    for name in names(group):
        package = find(group, name)
        assert isinstance(package, ModuleType), f"the entry point {name!r} of pairproof.{group} is not a package"
        for file in sorted(resources.files(package).iterdir(), key=lambda each: each.name):
            stem, dot, ending = file.name.rpartition(".")
            if dot + ending in endings:
                if stem in found:
                    raise UsageError(f"two {group} are called {stem!r}; one is in the package {package.__name__}")
                found[stem] = file
    return found
