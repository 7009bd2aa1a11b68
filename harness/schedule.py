"""A schedule is data: what one trial does, as a frozen, JSON-able value that any lab can execute.

Operations never block; time passes only in ``advance``, ``step`` and ``await``. So faults overlap operations in
flight, and delta-debugging may drop any operation and still have a valid schedule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from reprlib import repr as short
from typing import NamedTuple

from pairproof.harness.awaiting import check_what
from pairproof.harness.errors import UsageError

FORMAT = 1

Scalar = int | str | bool
Args = Mapping[str, Scalar]

MAX_OPS = 10_000
MAX_SETTINGS = 1_000
MAX_SEED_CHARS = 1_000

OPS: dict[str, dict[str, type]] = {
    "send": {"producer": int, "size": int, "wait": bool, "queue": int},
    "pull": {"reader": int, "node": str, "queue": int},
    "advance": {"ms": int},
    "step": {"events": int},
    "fault": {"name": str},
    "heal": {"name": str},
    "arm": {"node": str, "point": str, "nth": int, "name": str},
    "join": {"group": int, "consumer": int},
    "leave": {"group": int, "consumer": int, "lost": bool},
    "topic": {"number": int, "queues": int, "node": str},
    "group": {"group": int, "slowly": int, "broker": int, "node": str},
    "misdirect": {"node": str, "queue": int},
    "delayed": {"producer": int, "queue": int, "level": int},
    "await": {"what": str, "count": int, "ms": int},
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
join     a consumer comes: it joins its group, takes its share of the topic's queues, and consumes; nothing if it is
         there. Groups from :data:`BROADCASTING` on broadcast
leave    it goes, in an orderly way or ``lost``, as its process dies; nothing if it is not there
topic    an administrator creates a topic at ``node``, or changes how many queues it has
group    an administrator creates a consumer group at ``node``, or changes the broker ids that it is to read from: as a
         rule, and when it consumes ``slowly``
misdirect  a producer sends to a queue at ``node``, whether that takes messages or not
delayed  a producer sends what is to come into a queue only when the time of its delay ``level`` has passed
await    time passes until ``count`` more of ``what`` (:mod:`pairproof.harness.awaiting`) have happened since this
         operation began, or ``ms`` are over (labs that can)
"""

BROADCASTING = 8
"""The first consumer group in which each member gets every message."""

LIMITS: dict[str, int] = {
    "ms": 3_600_000,
    "events": 1_000_000,
    "size": 4 * 1024 * 1024,
    "nth": 1_000_000,
    "producer": 2**31 - 1,
    "reader": 2**31 - 1,
    "queue": 2**31 - 1,
    "group": 9,
    "consumer": 9,
    "number": 99,
    "queues": 64,
    "slowly": 3,
    "broker": 3,
    "level": 18,
    "count": 10_000,
}
"""The largest value of an operation's own numbers: an hour, RocketMQ's maxMessageSize, its 32-bit queue
ids; ten consumers in each of ten groups, and the broker ids of three slaves; the levels of messageDelayLevel."""

OPEN = ("fault", "arm")
"""Operations that carry a fault's arguments besides their own; what these may be, the fault says."""


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
        raise UsageError(
            f"not a schedule of format {FORMAT} (found {short(found)}); was it written by another version?"
        )
    settings, seed, ops = data.get("settings"), data.get("seed"), data.get("ops")
    if not isinstance(settings, dict) or not isinstance(seed, str) or not isinstance(ops, list):
        raise UsageError("a schedule needs settings (object), seed (text) and ops (list)")
    if len(ops) > MAX_OPS:
        raise UsageError(f"a schedule has at most {MAX_OPS} operations, not {len(ops)}")
    check_text(seed, "a schedule's seed", MAX_SEED_CHARS)
    _check_settings(settings)
    return Schedule(settings, seed, tuple(_op(number, each) for number, each in enumerate(ops)))


def check_text(text: str, what: str, limit_chars: int) -> None:
    """UsageError, naming ``what`` the text is for, unless it can be encoded, hashed and recorded."""
    if not _is_utf8(text):
        raise UsageError(f"{what} must be text in UTF-8, not {short(text)}")
    if len(text) > limit_chars:
        raise UsageError(f"{what} may have {limit_chars} characters at most, not {len(text)}")


def _is_utf8(text: str) -> bool:
    # Bytes that were no UTF-8, on a command line or escaped in JSON, come as lone surrogates.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_settings(settings: Mapping[object, object]) -> None:
    if len(settings) > MAX_SETTINGS:
        raise UsageError(f"a schedule has at most {MAX_SETTINGS} settings, not {len(settings)}")
    for key, value in settings.items():
        if not isinstance(key, str) or not _is_utf8(key) or not _is_scalar(value):
            raise UsageError(f"setting {short(key)} must be a whole number, text, true or false, not {short(value)}")


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return _is_utf8(value)
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _op(number: int, data: object) -> Op:
    match data:
        case [str(do), dict(args)]:
            pass
        case _:
            raise UsageError(f"operation {number} is not [name, arguments]: {short(data)}")
    if do not in OPS:
        raise UsageError(f"operation {number}: unknown {short(do)}; valid: {', '.join(OPS)}")
    for name, kind in OPS[do].items():
        _check_own(f"operation {number} ({do})", name, kind, args.get(name))
    for name in args.keys() - OPS[do].keys():
        _check_other(f"operation {number} ({do})", do, name, args[name])
    return Op(do, args)


def _check_own(where: str, name: str, kind: type, value: object) -> None:
    # bool is an int to Python, but not to whoever wrote size=true.
    if type(value) is not kind:
        raise UsageError(f"{where} needs {name} as {kind.__name__}, not {short(value)}")
    if isinstance(value, int) and kind is int:
        if value < 0:
            raise UsageError(f"{where}: {name} must not be negative, not {short(value)}")
        if value > LIMITS[name]:
            raise UsageError(f"{where}: {name} must be {LIMITS[name]} at most, not {short(value)}")
    elif name == "what":
        check_what(value)


def _check_other(where: str, do: str, name: object, value: object) -> None:
    if do not in OPEN:
        raise UsageError(f"{where} has no argument {short(name)}; valid: {', '.join(OPS[do])}")
    if not isinstance(name, str) or not _is_scalar(value):
        raise UsageError(f"{where}: {short(name)} must be a whole number, text, true or false, not {short(value)}")
