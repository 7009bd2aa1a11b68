"""A schedule is data: what one trial does, as a frozen, JSON-able value that any lab can execute.

Operations never block; time passes only in ``advance`` and ``step``. So faults overlap operations in flight, and
delta-debugging may drop any operation and still have a valid schedule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from pairproof.harness.errors import UsageError

FORMAT = 1

Scalar = int | str | bool
Args = Mapping[str, Scalar]

MAX_OPS = 10_000

OPS: dict[str, dict[str, type]] = {
    "send": {"producer": int, "size": int, "wait": bool, "queue": int},
    "pull": {"reader": int, "node": str, "queue": int},
    "advance": {"ms": int},
    "step": {"events": int},
    "fault": {"name": str},
    "heal": {"name": str},
    "arm": {"node": str, "point": str, "nth": int, "name": str},
}
"""Operations and the arguments that each must have. ``fault`` and ``arm`` carry the fault's own arguments besides.

send     a producer sends ``size`` body bytes to a queue, waiting for the store's promise or not
pull     a reader pulls its next messages of a queue from ``node``
advance  time passes
step     the lab's next ``events`` events happen (labs that can)
fault    the fault ``name`` begins
heal     the oldest active fault of that name ends (nothing if there is none)
arm      the fault ``name`` begins when ``node`` passes ``point`` (append, flush, send, recv) for the ``nth`` time from
         here (labs that can)
"""


class Op(NamedTuple):
    """One operation: what to do, and its arguments."""

    do: str
    args: Args = {}

    def __str__(self) -> str:
        return f"{self.do}({', '.join(f'{k}={json.dumps(v)}' for k, v in self.args.items())})"


class Schedule(NamedTuple):
    """Settings of the pair (RocketMQ's keys), the seed of everything random, and what happens."""

    settings: Args
    seed: str
    ops: tuple[Op, ...]

    def program(self) -> list[str]:
        """The operations as short readable lines."""
        return [str(op) for op in self.ops]

    def to_json(self) -> dict[str, object]:
        """A JSON object that :func:`from_json` reads back to an equal schedule."""
        return {
            "format": FORMAT,
            "settings": dict(self.settings),
            "seed": self.seed,
            "ops": [[op.do, dict(op.args)] for op in self.ops],
        }


def from_json(data: object) -> Schedule:
    """Read a schedule; raises :class:`UsageError` in one line for anything that is not one."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else None
        raise UsageError(f"not a schedule of format {FORMAT} (found {found!r}); was it written by another version?")
    settings, seed, ops = data.get("settings"), data.get("seed"), data.get("ops")
    if not isinstance(settings, dict) or not isinstance(seed, str) or not isinstance(ops, list):
        raise UsageError("a schedule needs settings (object), seed (text) and ops (list)")
    if len(ops) > MAX_OPS:
        raise UsageError(f"a schedule has at most {MAX_OPS} operations, not {len(ops)}")
    return Schedule(settings, seed, tuple(_op(number, each) for number, each in enumerate(ops)))


def _op(number: int, data: object) -> Op:
    match data:
        case [str(do), dict(args)]:
            pass
        case _:
            raise UsageError(f"operation {number} is not [name, arguments]: {json.dumps(data)[:80]}")
    if do not in OPS:
        raise UsageError(f"operation {number}: unknown {do!r}; valid: {', '.join(OPS)}")
    for name, kind in OPS[do].items():
        # bool is an int to Python, but not to whoever wrote size=true.
        if not isinstance(args.get(name), kind) or (kind is int and isinstance(args.get(name), bool)):
            raise UsageError(f"operation {number} ({do}) needs {name} as {kind.__name__}, not {args.get(name)!r}")
        value = args[name]
        if kind is int and value < 0:
            raise UsageError(f"operation {number} ({do}): {name} must not be negative, not {value}")
    return Op(do, args)
