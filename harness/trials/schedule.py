"""Schedules: the steps of one trial, as a frozen, JSON-able value that any lab can execute.

Operations (:mod:`harness.trials.operation`) never block; time passes only in ``advance``, ``step`` and ``await``. So
faults overlap operations in flight, and delta-debugging may drop any operation and still has a valid schedule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

FORMAT = 2
READS = (1, FORMAT)
"""Formats that can be read: 1 has the names of :mod:`harness.renamed`."""

Scalar = int | str | bool
Args = Mapping[str, Scalar]


def as_text(value: object) -> str:
    """A setting's value in the spelling of Java's properties."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Op(NamedTuple):
    do: str
    args: Args = {}

    def __str__(self) -> str:
        return f"{self.do}({', '.join(f'{k}={json.dumps(v)}' for k, v in self.args.items())})"


class Schedule(NamedTuple):
    """Settings of the pair (the system's keys), the seed of everything random, and the operations."""

    settings: Args
    seed: str
    ops: tuple[Op, ...]

    def program(self) -> list[str]:
        return [str(op) for op in self.ops]

    def to_json(self) -> dict[str, object]:
        """A JSON object that :func:`harness.trials.schedule_json.from_json` reads back to an equal schedule."""
        return {
            "format": FORMAT,
            "settings": dict(self.settings),
            "seed": self.seed,
            "ops": [[op.do, dict(op.args)] for op in self.ops],
        }
