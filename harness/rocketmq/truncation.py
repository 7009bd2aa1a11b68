"""Truncation points, enumerated: the HA stream stops after exactly N bytes, for every N at which its meaning changes.

A dry run of a short program on the correct pair finds the boundaries of reports, headers, bodies, records and files in
the bytes of the HA connection. At each such byte two faults are tried, in both directions: the connection ends there
(``limit_data``), and a write ends there and the rest follows much later (a socket buffer of N bytes on a stalled link).

Points: every byte of the first two reports; every byte of the header of the first frame with a body and of the first
heartbeat; and :data:`NEAR` bytes around every boundary of a frame, a body, a record and a file that the program
crosses. Complete when it ends. Left out: the bytes in between, which are all alike, and other slaves' links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from random import Random
from typing import NamedTuple

from ..history import Event
from ..ports import Lab, Target
from ..ports.links import CanShapeLink
from ..ports.timing import CanStep
from ..trials import resolve
from ..trials.abilities import part
from ..trials.interpreter import Interpreter
from ..trials.schedule import Args, Op, Schedule
from . import topology
from .boundaries import listed
from .sweep import ROLES, SIZES
from .template import advance, fault, send

REPORT = 8
HEADER = 12
REPORTS = 2
"""The number of reports in which every byte is a point."""
NEAR = 2
PUSHES = ("written", "flushed")
LINK = "ha"
SENT: tuple[Op, ...] = tuple(
    # One after the other, so that the stream is the same even if a small buffer delays the sends.
    op for number, size in enumerate(SIZES) for op in (send(number, number != 1, size), advance(3_000))
)  # fmt: skip
AT_REST = advance(20)


class Base(NamedTuple):
    """A program around the beginning of the fault; the truncated connection is the next one that carries bytes."""

    name: str
    before: tuple[Op, ...]
    after: tuple[Op, ...]


BASES = (
    Base("running", (AT_REST,), (*SENT, advance(6_000))),
    # A new connection five seconds later, its first report after five more, a heartbeat after another five.
    Base("joining", (AT_REST, fault("reset", link=LINK)), (*SENT, advance(12_000))),
)


class Points(NamedTuple):
    """The numbers of bytes after which the connection ends, by direction, ascending."""

    up: tuple[int, ...]
    down: tuple[int, ...]


def points(events: Iterable[Event], begin: int) -> Points:
    """The truncation points of the first HA connection that carries bytes from event number ``begin`` on.

    Positions count from there. The receiver gets the bytes within the limit, so received frames and reports count.
    """
    records: list[int] = []
    link = None
    reports = at = 0
    whole = {True, False}
    down: set[int] = set()
    for event in events:
        if event.kind == "append" and event.node == "master":
            records += (event.lo or 0, event.hi or 0)
        received = event.seq >= begin and (event.kind, event.side) in (("frame", "s"), ("report", "m"))
        if not received or event.link != (link or event.link):
            continue
        link = event.link
        if event.kind == "report":
            reports += 1
            continue
        lo, hi = event.lo or 0, event.hi or 0
        if (lo == hi) in whole:
            whole.remove(lo == hi)
            down.update(range(at, at + HEADER + 1))
        body = at + HEADER
        boundaries = {body, body + hi - lo, *(body + each - lo for each in records if lo <= each <= hi)}
        down.update(boundary + by for boundary in boundaries for by in range(-NEAR, NEAR + 1))
        at = body + hi - lo
    up = range(REPORT * min(reports, REPORTS) + 1) if reports else ()
    return Points(tuple(up), tuple(sorted(each for each in down if each <= at)))


def dry_run(lab: Lab, target: Target, settings: Args, base: Base) -> Points:
    """The points of one base program; none without a slave, or if a lab cannot cut at a byte or is not
    deterministic.
    """
    settings = resolve.fitted(target, settings)
    if not topology.slaves(settings):
        return Points((), ())
    session = lab.open(target, target.settings(settings), "cuts")
    try:
        if part(session, CanShapeLink) is None or part(session, CanStep) is None:
            return Points((), ())
        session.warm_up()
        interpreter = Interpreter(session, resolve.faults())
        for op in base.before:
            interpreter.do(op)
        begin = len(session.recorder.events)
        for op in base.after:
            interpreter.do(op)
        return points(session.recorder.events, begin)
    finally:
        session.close()


def schedules(lab: Lab, target: Target, seed: str) -> list[Schedule]:
    """All schedules, shuffled by the seed so that any prefix is a fair sample."""
    found = []
    for role, pushes, base in product(ROLES, PUSHES, BASES):
        settings: Args = {"brokerRole": role, "haPushes": pushes}
        for direction, positions in dry_run(lab, target, settings, base)._asdict().items():
            for position in positions:
                found += [each._replace(seed=seed) for each in _at(settings, base, direction, position)]
    found = [listed(each, number) for number, each in enumerate(found)]
    Random(f"{seed}/cuts").shuffle(found)
    return found


def _at(settings: Args, base: Base, direction: str, position: int) -> Iterator[Schedule]:
    where: Args = {"link": LINK, "direction": direction}
    dies = Op("fault", {"name": "limit_data", **where, "bytes": position})
    yield Schedule(settings, "", (*base.before, dies, *base.after))
    if position:  # a buffer holds at least one byte
        stalls = Op("fault", {"name": "stall", **where})
        # So that the rest of a report can follow, and reports pass a smaller buffer.
        waits: Args = {"lab.bufferBytes": position, "haCutReports": "waits"}
        yield Schedule({**settings, **waits}, "", (*base.before, stalls, *base.after))
