"""Moments inside a broker: points at calls on its files, tables and routes, and the search of single faults at them.

A point of a file is ``CALL:FOLDER``, just before the call: a log, queue or index file is created, queues are flushed,
the checkpoint is written, a table is written or renamed. ``apply``: a slave has taken one of its master's tables;
``route``: a name server has answered its registration.

The search plays each program of :data:`PROGRAMS` once without a fault and notes which points a node passes, and how
often. Then each pass gets each fault of :data:`AT`. The first fault of each new place comes first. Complete when it
ends; only a simulation stops there. Left out: two faults at once, and passes after the :data:`PASSES`-th.

:func:`at_moments` adds points and reads to a share of the seeded trials, from its own random stream.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from random import Random
from typing import NamedTuple

from ..ports import Lab, Target
from ..ports.timing import CanArm
from ..trials import resolve
from ..trials.abilities import Place, part, simulates
from ..trials.interpreter import Interpreter
from ..trials.schedule import Args, Op, Schedule
from . import topology
from .template import advance, group, join, pull, send, topic

APPLY, ROUTE = "apply", "route"
POINTS = (
    "create:commitlog", "create:consumequeue", "create:index", "write:checkpoint", "flush:consumequeue",
    "write:config", "rename:config", APPLY, ROUTE,
)  # fmt: skip
PASSES = 8
NODES = topology.NODES[:2]


class Program(NamedTuple):
    """``before`` passes the points; ``after`` shows what a fault there has left."""

    settings: Args
    points: tuple[str, ...]
    before: tuple[Op, ...]
    after: tuple[Op, ...]


SMALL: Args = {
    "brokerRole": "ASYNC_MASTER", "flushDiskType": "SYNC_FLUSH", "haSendHeartbeatInterval": 500,
    "flushConsumeQueueThoroughInterval": 1_000, "mappedFileSizeCommitLog": 2_048, "mappedFileSizeConsumeQueue": 60,
    "maxHashSlotNum": 2, "maxIndexNum": 4,
}  # fmt: skip
"""Files that a few messages fill."""
READ = Op("await", {"what": "applied", "count": 1, "ms": 11_000})
FILLING = (send(1), advance(50), send(1), send(2), advance(1_300), send(2), send(1), advance(1_300))
LATER = (send(1), send(2), send(3), advance(2_500), pull("master"), pull("slave"), advance(500))
PROGRAMS = (
    Program(SMALL, POINTS[:5], FILLING, LATER),
    # With an index a start after a crash dispatches from where its last file begins, so old queues do not matter.
    Program({**SMALL, "messageIndexEnable": False}, POINTS[3:5], FILLING, LATER),
    Program(
        {"lab.nameServer": 1, "brokerRole": "ASYNC_MASTER", "slaveReadEnable": True},
        POINTS[5:],
        (
            join(0, 0), topic(2, "master"), group(0, 1, "master"), send(0), READ, pull("slave"), advance(10_000),
            topic(3, "master"), READ, pull("slave"), advance(10_000),
        ),
        (send(1), advance(11_000), pull("slave"), advance(500)),
    ),
)  # fmt: skip

LASTING, ONE_CALL = "arm", "transient"
KILL: Args = {"name": "kill"}
EMPTY, SCATTERED = ({"name": "power_loss", "keep": keep} for keep in ("none", "some"))
READ_ONLY: Args = {"name": "read_only"}
FULL, ROOM, QUEUES = ({"name": "disk_full", "files": files} for files in ("all", "but_log", "queues"))
AT: dict[str, tuple[tuple[str, Args], ...]] = {
    "create": (
        (LASTING, ROOM), (ONE_CALL, FULL), (LASTING, KILL), (LASTING, SCATTERED), (LASTING, QUEUES), (LASTING, EMPTY),
        (LASTING, READ_ONLY),
    ),
    "write": ((ONE_CALL, FULL), (LASTING, SCATTERED), (LASTING, KILL), (LASTING, EMPTY), (LASTING, ROOM)),
    "flush": ((LASTING, EMPTY), (LASTING, SCATTERED), (LASTING, KILL)),
    "rename": ((LASTING, KILL), (LASTING, EMPTY), (LASTING, SCATTERED), (LASTING, READ_ONLY)),
    APPLY: ((LASTING, KILL), (LASTING, EMPTY), (LASTING, {"name": "restart"})),
    ROUTE: ((LASTING, KILL), (LASTING, {"name": "pause"})),
}  # fmt: skip
"""By call: the faults there, the first ones first, and the operation that begins each."""


def schedules(lab: Lab, target: Target, seed: str) -> list[Schedule]:
    """Every fault at every moment, new places first, otherwise shuffled; none in a lab without virtual time."""
    if not lab.deterministic:
        return []
    found: list[tuple[int, int, Schedule]] = []
    for program in PROGRAMS:
        for node, point, nth in moments(lab, target, program):
            for number, (do, args) in enumerate(AT[point.partition(":")[0]]):
                op = Op(do, {"node": node, "point": point, "nth": nth, **args})
                heals = () if do == ONE_CALL else (Op("heal", {"name": args["name"]}), advance(1_000))
                ops = (op, *program.before, *heals, *program.after)
                found.append((number, nth, Schedule(program.settings, seed, ops)))
    Random(f"{seed}/moments").shuffle(found)
    found.sort(key=lambda each: each[:2])
    listed = resolve.system_of(target).listed
    return [listed(each, number) for number, each in enumerate(schedule for _, _, schedule in found)]


def moments(lab: Lab, target: Target, program: Program) -> list[tuple[str, str, int]]:
    """The passes of its points: node, point, and the number of the pass; none if the user's settings exclude it."""
    found: list[tuple[str, str, int]] = []
    fitted = resolve.scheduled(target, Schedule(program.settings, "moments", program.before))
    if topology.has_names(program.settings) and not topology.has_names(fitted.settings):
        return found
    nodes = NODES if topology.slaves(fitted.settings) else NODES[:1]
    session = lab.open(target, target.settings(fitted.settings), "moments")
    try:
        triggers: CanArm | None = part(session, CanArm)
        if triggers is not None:
            session.warm_up()
            for node, point, nth in product(nodes, program.points, range(1, PASSES + 1)):
                triggers.arm(node, point, nth, partial(found.append, (node, point, nth)))
            interpreter = Interpreter(session, resolve.faults())
            for op in fitted.ops:
                interpreter.do(op)
    finally:
        session.close()
    return found


SHARE = 0.1
"""The share of seeded trials with a moment."""
READS = ("applied", "saved", "registered")
"""Moments after which a trial reads."""


def at_moments(drawn: Schedule, seed: str, number: int, lab: Place | None) -> Schedule:
    """The schedule with this number under this seed; a share of them has a fault at a point, or a read after it."""
    dice = Random(f"{seed}/moments/{number}")
    if dice.random() >= SHARE or not simulates(lab):
        return drawn
    at = dice.randint(0, len(drawn.ops))
    node = dice.choice(NODES)
    if topology.has_names(drawn.settings) and dice.random() < 0.5:
        seen = Op("await", {"what": dice.choice(READS), "count": dice.randint(1, 2), "ms": 11_000})
        return drawn._replace(ops=(*drawn.ops[:at], seen, pull(node), *drawn.ops[at:]))
    point = dice.choice(POINTS)
    do, args = dice.choice(AT[point.partition(":")[0]])
    if args["name"] not in resolve.drawn(lab):
        return drawn
    op = Op(do, {"node": node, "point": point, "nth": dice.randint(1, PASSES), **args})
    return drawn._replace(ops=(*drawn.ops[:at], op, *drawn.ops[at:]))
