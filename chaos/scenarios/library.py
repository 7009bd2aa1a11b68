"""Finds scenarios: registered ones by name, a user's own by the path of its file.

The scenarios of pairproof are files of this package. A third party registers its package of such files under the entry
points ``pairproof.scenarios``.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ...harness import registry, renamed
from ...harness.errors import UsageError, meant
from . import reading
from .scenario import Scenario

ENDINGS = (".yaml", ".yml")


def names() -> list[str]:
    """The registered ones, sorted."""
    return sorted(registry.files("scenarios", *ENDINGS))


@cache
def shipped(name: str) -> Scenario:
    """A registered one."""
    return reading.from_text(registry.files("scenarios", *ENDINGS)[name].read_text(encoding="utf-8"), name)


def find(given: str) -> Scenario:
    """A scenario by its name, or by the path of a file (``.yaml``, or with a slash); UsageError if there is none."""
    if given.endswith(ENDINGS) or "/" in given:
        return reading.from_file(Path(given))
    if Path(given).is_file():
        raise UsageError(f"{given} is a file, but not a scenario: a scenario is YAML and its name ends in .yaml")
    given = renamed.given("scenarios", given)
    if given not in names():
        raise UsageError(f"unknown scenario {given!r}{meant(given, names())} (or name a file: my-scenario.yaml)")
    return shipped(given)


def find_all(given: Iterable[str]) -> list[Scenario]:
    """Several, each once, in the order given; UsageError if two of them have one name."""
    found: dict[str, Scenario] = {}
    for each in dict.fromkeys(given):
        scenario = find(each)
        if scenario.name in found:
            raise UsageError(f"two scenarios are called {scenario.name!r}; run them one after the other")
        found[scenario.name] = scenario
    return list(found.values())
