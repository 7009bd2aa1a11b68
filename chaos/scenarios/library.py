"""Finds scenarios: those that come with pairproof by name, a user's own by the path of its file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path

from pairproof.chaos.scenarios import reading
from pairproof.chaos.scenarios.scenario import Scenario
from pairproof.chaos.scenarios.yaml_tree import close_to
from pairproof.harness.errors import UsageError

SHIPPED = resources.files(__package__)
ENDINGS = (".yaml", ".yml")


def names() -> list[str]:
    """Those that come with pairproof, sorted."""
    return sorted(Path(file.name).stem for file in SHIPPED.iterdir() if file.name.endswith(".yaml"))


@cache
def shipped(name: str) -> Scenario:
    """One of those."""
    return reading.from_text(SHIPPED.joinpath(f"{name}.yaml").read_text(encoding="utf-8"), name)


def find(given: str) -> Scenario:
    """A scenario by its name, or by the path of a file (``.yaml``, or with a slash); UsageError if there is none."""
    if given.endswith(ENDINGS) or "/" in given:
        return reading.from_file(Path(given))
    if Path(given).is_file():
        raise UsageError(f"{given} is a file, but no scenario's: that is YAML and ends in .yaml")
    if given not in names():
        raise UsageError(f"unknown scenario {given!r}{close_to(given, names())} (or name a file: my-scenario.yaml)")
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
