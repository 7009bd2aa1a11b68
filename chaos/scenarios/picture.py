"""Draws a scenario's timeline in text."""

from __future__ import annotations

from ...harness.trials.schedule import Op
from . import timeline
from .scenario import Case
from .steps import usual

WIDTH = 64
MARKS = 4


def drawn(case: Case) -> list[str]:
    """The picture: a row for the axis, one for each load (``.``) and one for each step (``=`` a fault, ``^``
    others).
    """
    length = timeline.length_ms(case) or 1

    def column(at_ms: int) -> int:
        return at_ms * WIDTH // length

    axis = [" "] * WIDTH
    for mark in range(MARKS):
        at = mark * length // MARKS
        text = f"|{at / 1000:g} s"
        axis[column(at) : column(at) + len(text)] = text
    rows = [("", "".join(axis)[:WIDTH])]
    for load in case.loads:
        end = max(column(load.until_ms), column(load.from_ms) + 1)
        rows.append((f"{_called(load.op)} every {load.every_ms} ms", _bar(column(load.from_ms), end, ".")))
    for step, begin, end in timeline.spans(case):
        if step.op.do == "heal":
            continue
        # Includes steps that begin at the last moment.
        first = min(WIDTH - 1, column(begin))
        bar = _bar(first, max(column(end), first + 1), "=") if step.op.do == "fault" else _bar(first, first + 1, "^")
        rows.append((_called(step.op), bar))
    wide = max(len(name) for name, _ in rows)
    return [f"{name:<{wide}}  {bar}".rstrip() for name, bar in rows]


def _bar(begin: int, end: int, mark: str) -> str:
    return " " * begin + mark * (end - begin)


def _called(op: Op) -> str:
    known = usual(op.do)
    given = {key: value for key, value in op.args.items() if key != "name" and value != known.get(key)}
    name = str(op.args["name"]) if op.do == "fault" else op.do
    return f"{name}({', '.join(f'{key}={value}' for key, value in given.items())})"
