"""Names that changed before version 0.1. Stored programs, histories, runs and scenarios keep the old ones.

Readers translate stored names. A name that a user types or has in a file is translated with a warning on standard
error; the next version will refuse it. Searches sort names by :func:`drawn_as`, so a seed keeps its trials.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

SETTINGS = {
    "lab.names": "lab.nameServer", "lab.absentNames": "lab.absentNameServers", "lab.visits": "lab.conversations",
}  # fmt: skip
FAULTS = {"hostile": "rogue_slave", "impostor": "rogue_master", "intruder": "rogue_client"}
OPERATIONS = {
    "falter": "fail_consume", "misdirect": "send_to_wrong_broker", "remake": "recreate", "special": "edge_case_send",
}  # fmt: skip
SEARCHES = {"whole": "cluster", "cuts": "truncation", "pairs": "fault-pairs"}
OLD: Mapping[str, Mapping[str, str]] = {
    "settings": SETTINGS,
    "faults": FAULTS,
    "operations": OPERATIONS,
    "event_types": {"visit": "conversation", "looked": "scanned"},
    "laws": {
        "visitor-served": "conversation-answered", "route-told": "route-reported", "log-cut-told": "log-cut-reported",
    },
    "searches": SEARCHES,
    "profiles": {"broad": "fault-pairs"},
    "scenarios": {
        "hostile-peer-on-ha-port": "rogue-slave-on-ha-port", "impostor-master": "rogue-master",
        "stranger-acknowledges": "rogue-slave-acknowledges",
        "strangers-at-client-ports": "rogue-clients-at-client-ports",
    },
}  # fmt: skip
"""New names by old ones, by group of the registry or of other names."""
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "law": OLD["laws"],
    "origin": SEARCHES,
    "name": FAULTS,
    "kind": OLD["event_types"],
    "node": {"hostile": "rogue_slave", "impostor": "rogue_master"},
    "f": {**FAULTS, "keeper": "supervisor"},
}
"""New values by old ones, by column of a run folder."""

MODULES = {
    "trials": ("abilities", "fault", "interpreter", "operation", "resolve", "schedule", "schedule_json", "trial"),
    "judging": ("judge", "law", "verdict"),
}
"""Modules that a package of laws, faults or operations may import, by the package of :mod:`pairproof.harness` that has
them now.
"""

_DRAWN_AS = {new: old for names in (FAULTS, OPERATIONS) for old, new in names.items()}


def drawn_as(name: str) -> str:
    """The sort key of a name in searches: its old name, so that seeds draw the same trials as before the renaming."""
    return _DRAWN_AS.get(name, name)


def current(group: str, name: str) -> str:
    """The current name of ``name`` in a group."""
    return OLD.get(group, {}).get(name, name)


def given(group: str, name: str) -> str:
    """:func:`current` for a name that a user wrote; warns about an old name on standard error."""
    new = current(group, name)
    if new != name:
        print(f"warning: {name} is called {new} now; the next version will not take the old name", file=sys.stderr)
    return new


def schedule(settings: Mapping[str, Any], ops: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Settings and operations of a stored schedule, with current names. Values that are not operations stay."""
    return {current("settings", key): value for key, value in settings.items()}, [_op(each) for each in ops]


def facts(found: dict[str, Any]) -> None:
    """Rename old names in the facts of a run, in place."""
    if "floors" in found:
        found.setdefault("minimums", found.pop("floors"))
    if isinstance(found.get("laws"), list):
        found["laws"] = [current("laws", each) if isinstance(each, str) else each for each in found["laws"]]
    if isinstance(found.get("profile"), str):
        found["profile"] = current("profiles", found["profile"])


def _op(data: Any) -> Any:
    match data:
        case [str(do), {"name": str(fault), **rest}]:
            return [current("operations", do), {"name": current("faults", fault), **rest}]
        case [str(do), args]:
            return [current("operations", do), args]
    return data


class Moved(MetaPathFinder, Loader):
    """Finds :data:`MODULES` by the names that they had, after every other finder, with a warning."""

    def __init__(self, package: str) -> None:
        self._moved = {f"{package}.{name}": f"{package}.{to}.{name}" for to, names in MODULES.items() for name in names}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self._moved else None

    def exec_module(self, module: ModuleType) -> None:
        new = self._moved[module.__name__]
        print(f"warning: {module.__name__} is {new} now; the next version will not have the old name", file=sys.stderr)
        sys.modules[module.__name__] = import_module(new)
