"""Reads single values of a scenario's tree: each error names the file, the line, the invalid value and the valid ones.

``${name}`` is a variable's value: alone in a value it keeps its type, within a text it becomes text.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from ...harness.errors import meant
from ...harness.trials.schedule import Args, Scalar
from . import amounts
from .yaml_tree import Spot

MAX_TEXT = 4_000
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
Read = TypeVar("Read")


def mapping(spot: Spot, known: Collection[str], what: str, required: Collection[str] = ()) -> dict[str, Spot]:
    """A mapping with all required keys, and no unknown ones."""
    if not isinstance(spot.value, dict):
        spot.fail(f"{what} is a mapping of {', '.join(known)}, not {spot.shown()}")
    for key, value in spot.value.items():
        if key not in known:
            value.fail(f"{what} has no key {key!r}{meant(key, known)}")
    for key in required:
        if key not in spot.value:
            spot.fail(f"{what} needs {key!r}")
    return spot.value


def members(spot: Spot, what: str, most: int) -> list[Spot]:
    """A list of at most ``most`` entries."""
    if not isinstance(spot.value, list):
        spot.fail(f"{what} is a list, not {spot.shown()}")
    if len(spot.value) > most:
        spot.fail(f"{what} may have {most} entries at most, not {len(spot.value)}")
    return spot.value


def text(spot: Spot, what: str) -> str:
    """A non-empty text."""
    if not isinstance(spot.value, str) or not spot.value.strip():
        spot.fail(f"{what} is a text, not {spot.shown()}")
    if len(spot.value) > MAX_TEXT:
        spot.fail(f"{what} may have {MAX_TEXT} characters at most")
    return " ".join(spot.value.split())


def whole(spot: Spot, what: str, least: int, most: int) -> int:
    """A whole number in a range."""
    if type(spot.value) is not int or not least <= spot.value <= most:
        spot.fail(f"{what} is a whole number from {least} to {most}, not {spot.shown()}")
    return spot.value


def truth(spot: Spot, what: str) -> bool:
    """true or false."""
    if not isinstance(spot.value, bool):
        spot.fail(f"{what} is true or false, not {spot.shown()}")
    return spot.value


def scalar(spot: Spot, what: str) -> Scalar:
    """A whole number, a text, true or false."""
    if not isinstance(spot.value, str | int):
        spot.fail(f"{what} is a whole number, a text, true or false, not {spot.shown()}")
    return spot.value


def one_of(spot: Spot, what: str, valid: Collection[str]) -> str:
    """A valid name."""
    if not isinstance(spot.value, str) or spot.value not in valid:
        spot.fail(f"unknown {what} {spot.shown()}{meant(str(spot.value), valid)}")
    return spot.value


def names(spot: Spot, what: str, valid: Collection[str]) -> tuple[str, ...]:
    """A list of valid names."""
    return tuple(one_of(each, what, valid) for each in members(spot, f"a list of each {what}", len(valid)))


def amount(spot: Spot, what: str, reader: Callable[[object], Read]) -> Read:
    """A value as a reader of :mod:`amounts` parses it."""
    try:
        return reader(spot.value if isinstance(spot.value, str | int) else spot.shown())
    except ValueError as why:
        spot.fail(f"{what}: {why}")


def time_ms(found: Mapping[str, Spot], key: str, default: int | None = None) -> int:
    """A time, ms; without a default the key is required, which the caller has checked."""
    return default if key not in found and default is not None else amount(found[key], key, amounts.time_ms)


def filled_in(spot: Spot, values: Args) -> Spot:
    """The tree with the variables' values in place of their names."""
    match spot.value:
        case dict():
            filled = {str(_filled(spot, key, values)): filled_in(each, values) for key, each in spot.value.items()}
            if len(filled) < len(spot.value):
                spot.fail(f"two of its keys are the same where {', '.join(f'{k}={v}' for k, v in values.items())}")
            return spot._replace(value=filled)
        case list():
            return spot._replace(value=[filled_in(each, values) for each in spot.value])
        case str():
            return spot._replace(value=_filled(spot, spot.value, values))
    return spot


def _filled(spot: Spot, written: str, values: Args) -> Scalar:
    if "${" not in written:
        return written
    for name in _VARIABLE.findall(written):
        if name not in values:
            spot.fail(f"unknown variable {name!r}{meant(name, values)}; each defines the variables")
    if whole_value := _VARIABLE.fullmatch(written):
        return values[whole_value[1]]
    return _VARIABLE.sub(lambda found: str(values[found[1]]), written)
