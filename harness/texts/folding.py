"""Fold a program for people: repeated operations appear once."""

from __future__ import annotations

from collections.abc import Sequence

MAX_PERIOD = 6
"""The most operations of a folded repetition."""
MAX_LINES = 30


def folded(program: Sequence[str]) -> list[str]:
    """A program with ``12 times:`` before repeated operations."""
    found: list[str] = []
    at = 0
    while at < len(program):
        period, times = _repetition(program, at)
        found += [f"{times} times:"] if times > 1 else []
        found += [f"  {each}" if times > 1 else each for each in program[at : at + period]]
        at += period * times
    return found


def shown(program: Sequence[str]) -> list[str]:
    """:func:`folded` for a terminal."""
    return limited(folded(program))


def limited(lines: Sequence[str]) -> list[str]:
    """At most :data:`MAX_LINES` lines, without the middle."""
    left_out = len(lines) - MAX_LINES
    if left_out <= 1:
        return [*lines]
    half = MAX_LINES // 2
    return [*lines[:half], f"... {left_out} more lines; the finding's file has all", *lines[-half:]]


def _repetition(program: Sequence[str], at: int) -> tuple[int, int]:
    """The best repetition that begins here: its number of operations, and its count."""
    best = (1, 1)
    for period in range(1, MAX_PERIOD + 1):
        unit = program[at : at + period]
        times = 1
        while program[at + times * period : at + (times + 1) * period] == unit and len(unit) == period:
            times += 1
        if times > 1 and period * times > best[0] * best[1]:
            best = (period, times)
    return best
