"""Amounts in scenarios: times (``300ms``, ``2s``, ``1m``), sizes (``200B``, ``4KiB``), bounds (``>=1``)."""

import re
from collections.abc import Mapping
from typing import NamedTuple

MAX_TIME_MS = 600_000
MAX_BOUND = 1_000_000

_TIMES = {"ms": 1, "s": 1_000, "m": 60_000}
_SIZES = {"B": 1, "KiB": 1_024, "MiB": 1_048_576}
_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([A-Za-z]+)", re.ASCII)
_RANGE = re.compile(r"(\d{1,7})\.\.(\d{1,7})", re.ASCII)
_BOUND = re.compile(r"(>=|<=|)\s*(\d{1,7})", re.ASCII)


class Bound(NamedTuple):
    """From ``low`` to ``high``, both included; None for no limit."""

    low: int
    high: int | None

    def __str__(self) -> str:
        if self.low == self.high:
            return f"exactly {self.low}"
        if self.high is None:
            return f"at least {self.low}"
        return f"at most {self.high}" if self.low == 0 else f"{self.low} to {self.high}"

    def holds(self, count: int) -> bool:
        return self.low <= count and (self.high is None or count <= self.high)


def time_ms(value: object) -> int:
    """Milliseconds; ValueError, with the remedy, for an invalid time."""
    return _amount(value, _TIMES, "a time such as 300ms, 2s or 1m", MAX_TIME_MS, "10m")


def size_bytes(value: object) -> int:
    """Bytes; ValueError, with the remedy, for an invalid size."""
    return _amount(value, _SIZES, "a size such as 200B, 4KiB or 1MiB", 64 * 1_048_576, "64MiB")


def _amount(value: object, units: Mapping[str, int], wanted: str, most: int, shown: str) -> int:
    if value == 0 and type(value) is int:
        return 0
    found = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"needs {wanted}, not {str(value)[:40]!r}")
    number, unit = found.groups()
    if unit not in units:
        raise ValueError(f"unknown unit {unit!r} in {value!r}; valid: {', '.join(units)}")
    amount = float(number) * units[unit]
    if amount != int(amount):
        raise ValueError(f"{value!r} is not a whole number of {next(iter(units))}")
    if amount > most:
        raise ValueError(f"may be {shown} at most, not {value!r}")
    return int(amount)


def bound(value: object) -> Bound:
    """A bound: a number, ``>=1``, ``<=3``, ``1..5``; ValueError, with the remedy, otherwise."""
    text = str(value) if type(value) is int else value
    if isinstance(text, str):
        if found := _RANGE.fullmatch(text):
            low, high = map(int, found.groups())
            if low <= high:
                return Bound(low, high)
        elif found := _BOUND.fullmatch(text):
            number = int(found[2])
            if number <= MAX_BOUND:
                return {">=": Bound(number, None), "<=": Bound(0, number)}.get(found[1], Bound(number, number))
    raise ValueError(f"needs a count such as 0, '>=1', '<=3' or '1..5', not {str(value)[:40]!r}")
