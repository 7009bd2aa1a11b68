"""Reads and checks scenarios, with one clear line for each error.

Everything is checked before anything runs: keys, units, faults and their arguments, laws, nodes and links under the
scenario's settings, settings that the reference accepts, and that each case's timeline compiles.
"""

import re
from collections.abc import Mapping
from itertools import product
from math import prod
from pathlib import Path

from ...harness import registry, renamed
from ...harness.errors import UsageError, meant
from ...harness.judging import judge
from ...harness.trials import resolve
from ...harness.trials.schedule import Args, Scalar
from ...reference.core.versions import VERSIONS
from . import expecting, fields, steps, timeline
from .scenario import Case, Scenario
from .yaml_tree import Spot, parse, read

KEYS = (
    "name", "about", "promises", "target", "settings", "workload", "timeline", "lasts", "each", "repeat", "laws",
    "expect", "catches", "differs",
)  # fmt: skip
REQUIRED = ("name", "about", "expect")
REFERENCE = "reference"
"""Default target for checking a scenario's settings; its mutants can be named."""
MAX_CASES = 256
MAX_REPEAT = 1_000
MAX_PROMISES = 10
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RANGE = re.compile(r"(\d{1,6})\.\.(\d{1,6})", re.ASCII)
VERDICT = "verdict"


def from_file(path: Path) -> Scenario:
    """A file's scenario, whose name is the file's; UsageError in one line for any error."""
    return _scenario(read(path), path.stem)


def from_text(text: str, name: str = "scenario") -> Scenario:
    """The same for a text."""
    return _scenario(parse(text, f"{name}.yaml"), name)


def _renamed(spot: Spot) -> Spot:
    """The tree with present names in place of old ones: of settings, operations, faults and laws."""
    match spot.value:
        case dict():
            keys = {key: renamed.given("operations", renamed.given("settings", key)) for key in spot.value}
            return spot._replace(value={keys[key]: _renamed(each) for key, each in spot.value.items()})
        case list():
            return spot._replace(value=[_renamed(each) for each in spot.value])
        case str():
            return spot._replace(value=renamed.given("laws", renamed.given("faults", spot.value)))
    return spot


def _scenario(root: Spot, stem: str) -> Scenario:
    root = _renamed(root)
    found = fields.mapping(root, KEYS, "a scenario", REQUIRED)
    name = fields.text(found["name"], "name")
    if not _NAME.fullmatch(name):
        found["name"].fail(f"a name is lower-case words joined by hyphens, not {name!r}")
    if name != stem:
        found["name"].fail(f"the scenario calls itself {name!r}, its file is {stem}.yaml; give both one name")
    target = _target(found.get("target"))
    promises = fields.members(found["promises"], "promises", MAX_PROMISES) if "promises" in found else []
    return Scenario(
        name,
        fields.text(found["about"], "about"),
        tuple(fields.text(each, "a promise") for each in promises),
        tuple(_case(found, values, target) for values in _combinations(found.get("each"))),
        fields.whole(found["repeat"], "repeat", 1, MAX_REPEAT) if "repeat" in found else 1,
        _laws(found.get("laws")),
        _catches(found.get("catches")),
        _differs(found.get("differs")),
        target,
    )


def _combinations(spot: Spot | None) -> list[Args]:
    """A mapping of variables to their values makes every combination; a list of mappings has the combinations."""
    if spot is None:
        return [{}]
    if isinstance(spot.value, list):
        listed = [_values(each) for each in fields.members(spot, "each", MAX_CASES)]
        made = [{key: fields.scalar(value, key) for key, value in each.items()} for each in listed]
        if any(each.keys() != made[0].keys() for each in made):
            spot.fail("each combination gives the same variables a value")
    else:
        found = {key: _listed(value) for key, value in _values(spot).items()}
        count = prod(map(len, found.values()))
        if not 1 <= count <= MAX_CASES:
            spot.fail(f"each makes {count} combinations; 1 to {MAX_CASES} are valid")
        made = [dict(zip(found, each, strict=True)) for each in product(*found.values())]
    if not made:
        spot.fail("each makes no combination; leave it out or list one")
    return list(made)


def _values(spot: Spot) -> dict[str, Spot]:
    if not isinstance(spot.value, dict) or not spot.value:
        spot.fail(f"each is a mapping of variables to lists or ranges such as 0..12, not {spot.shown()}")
    return spot.value


def _listed(spot: Spot) -> list[Scalar]:
    if isinstance(spot.value, str) and (found := _RANGE.fullmatch(spot.value)):
        low, high = map(int, found.groups())
        if high - low >= MAX_CASES:
            spot.fail(f"{spot.value} has more than {MAX_CASES} values")
        return list(range(low, high + 1))
    return [fields.scalar(each, "a value") for each in fields.members(spot, "a variable's values", MAX_CASES)]


def _target(spot: Spot | None) -> str:
    return REFERENCE if spot is None else fields.one_of(spot, "target", registry.names("targets"))


def _case(found: Mapping[str, Spot], values: Args, target: str) -> Case:
    filled = {key: fields.filled_in(spot, values) for key, spot in found.items() if key not in ("about", "promises")}
    settings = _settings(filled.get("settings"), target)
    loads = steps.read_loads(filled.get("workload"), settings)
    listed = steps.read_steps(filled.get("timeline"), settings)
    lasts = fields.time_ms(filled, "lasts", 0)
    expect, apart = expecting.read_expect(filled["expect"], listed)
    case = Case(values, settings, loads, listed, lasts, expect, apart)
    try:
        timeline.compiled(case, "")
    except UsageError as why:
        where = found.get("timeline", found["name"])
        raise UsageError(f"{where.file}, {why}") from None
    return case


def _settings(spot: Spot | None, target: str) -> dict[str, Scalar]:
    if spot is None:
        return {}
    if not isinstance(spot.value, dict):
        spot.fail(f"settings are the target's keys with values, such as lab.slaves: 2, not {spot.shown()}")
    found = {key: fields.scalar(each, key) for key, each in spot.value.items()}
    why = _complaint(found, target)
    if why:
        for key, each in spot.value.items():
            # An error of one setting alone has the same words: report its line.
            if _complaint({key: found[key]}, target) == why:
                each.fail(why)
        spot.fail(why)
    return found


def _complaint(settings: Args, target: str) -> str:
    """The error of these settings in all their possible versions; empty if one accepts them."""
    versions = VERSIONS if target == REFERENCE else ()
    said = [_refused({"rocketmqVersion": version, **settings}, target) for version in versions]
    return "" if "" in said else _refused(settings, target)


def _refused(settings: Args, target: str) -> str:
    try:
        resolve.target(target).settings(settings)
    except UsageError as why:
        return str(why)
    return ""


def _laws(spot: Spot | None) -> tuple[str, ...]:
    if spot is None or spot.value == "all":
        return ()
    chosen = fields.names(spot, "law", registry.names("laws"))
    judge.laws(chosen)
    return chosen


def _catches(spot: Spot | None) -> tuple[str, ...]:
    if spot is None:
        return ()
    caught = []
    for each in fields.members(spot, "catches", 100):
        name = fields.text(each, "a mutant's name")
        try:
            resolve.target(f"{REFERENCE}+{name}")
        except UsageError as why:
            each.fail(str(why))
        caught.append(name)
    return tuple(caught)


def _differs(spot: Spot | None) -> dict[str, str]:
    if spot is None:
        return {}
    known = (*registry.names("laws"), VERDICT)
    if not isinstance(spot.value, dict):
        spot.fail(f"differs has the reason why labs may disagree in a law, not {spot.shown()}")
    for key, each in spot.value.items():
        if key not in known:
            each.fail(f"unknown law {key!r}{meant(key, known)}")
    return {key: fields.text(each, f"the reason of {key}") for key, each in spot.value.items()}
