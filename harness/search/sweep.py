"""The exhaustive sweep: single faults, at every event boundary of a warm pair with sends in flight.

A base program starts its sends at once; the fault begins after the k-th event that follows, for every k until the pair
is at rest, and one more send falls into the fault. What is swept, :data:`MODES` say: in the first mode every fault with
every combination of its listed arguments at every place of a pair; in the other modes every fault at every node and HA
link of that mode, in both directions, with its default numbers; with two slaves, at the second one only. Complete when
it ends; a time box visits a seeded sample instead.

Left out, and met in the other searches: two faults at once, other numbers outside the first mode, older versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any, NamedTuple

from pairproof.harness import resolve
from pairproof.harness.abilities import part
from pairproof.harness.interpreter import Interpreter
from pairproof.harness.ports import Fault, Lab, Target
from pairproof.harness.ports.timing import CanStep
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args, Op, Scalar, Schedule

ROLES = ("SYNC_MASTER", "ASYNC_MASTER")
FLUSHES = ("ASYNC_FLUSH", "SYNC_FLUSH")
SIZES = (1_300, 400)
"""Bodies of the base program's sends: the first needs several frames and holds a whole disk sector, and together they
cross a file border."""
MAX_BOUNDARIES = 500
SETTLED_MS = 700
"""Longer than a flush interval: what follows a flush belongs to the program, too."""


class Mode(NamedTuple):
    """Settings under which single faults are swept, and where."""

    settings: Args
    places: frozenset[Scalar]
    """Nodes and links at which faults are swept; a fault that has no place counts as being at the master."""
    every_number: bool
    """Whether all listed numbers of a fault are tried, or its defaults only."""


SLOW_FLUSH: Args = {"flushDiskType": "SYNC_FLUSH", "lab.flushMicros": 2_000}
"""The second send arrives while the first is flushed."""

_PAIR = frozenset({"master", "slave", "ha", "client-master", "client-slave"})
_NODES = frozenset({"master", "slave", "ha"})
MODES = (
    Mode({"brokerRole": "SYNC_MASTER", "flushDiskType": "ASYNC_FLUSH"}, _PAIR, every_number=True),
    Mode({"brokerRole": "SYNC_MASTER", **SLOW_FLUSH}, _NODES, every_number=False),
    Mode({"brokerRole": "ASYNC_MASTER", "flushDiskType": "ASYNC_FLUSH"}, _NODES, every_number=False),
    Mode({"brokerRole": "ASYNC_MASTER", **SLOW_FLUSH}, _NODES, every_number=False),
    Mode({"haPushes": "flushed", "flushDiskType": "ASYNC_FLUSH"}, _NODES, every_number=False),
    Mode({"haPushes": "flushed", **SLOW_FLUSH}, _NODES, every_number=False),
    Mode({"lab.slaves": 2}, frozenset({"slave2", "ha2"}), every_number=False),
)


def base_program(settings: Args) -> tuple[Op, ...]:
    """Two sends in flight at once, from two producers; the second waits only where sends wait for a flush."""
    both = settings.get("flushDiskType") == "SYNC_FLUSH"
    return tuple(
        Op("send", {"producer": number % 2, "size": size, "wait": both or number != 1, "queue": number % 2})
        for number, size in enumerate(SIZES)
    )


def variants(fault: Fault, mode: Mode = MODES[0]) -> Iterator[Args]:
    """The combinations of a fault's listed argument values that this mode sweeps."""
    if fault.name in AT_ANY_TIME:
        return
    if "master" not in mode.places and all(_NAMES.isdisjoint(values) for values in fault.arguments.values()):
        return
    for values in product(*(_values(mode, values) for values in fault.arguments.values())):
        yield {"name": fault.name, **dict(zip(fault.arguments, values, strict=True))}


def _values(mode: Mode, values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not _NAMES.isdisjoint(values):
        return tuple(each for each in values if each in mode.places)
    if type(values[0]) is int and not mode.every_number:
        return values[:1]
    return values


_NAMES = frozenset((*places.PROCESSES, *places.LINKS))


def boundaries(lab: Lab, target: Target, settings: Args) -> int:
    """How many events follow the base program until the pair is at rest; 0 where a lab cannot step."""
    session = lab.open(target, target.settings(settings), "sweep")
    try:
        steps: CanStep | None = part(session, CanStep)
        if steps is None:
            return 0
        session.warm_up()
        interpreter = Interpreter(session, resolve.faults())
        for op in base_program(settings):
            interpreter.do(op)
        return steps.step(MAX_BOUNDARIES, SETTLED_MS)
    finally:
        session.close()


def schedules(lab: Lab, target: Target, seed: str) -> list[Schedule]:
    """The whole sweep, in an order that is shuffled by the seed so that any beginning of it is a fair sample."""
    found = []
    for mode in MODES:
        faults = [args for fault in resolve.drawn(lab).values() for args in variants(fault, mode)]
        settings = mode.settings
        for boundary in range(boundaries(lab, target, settings) + 1):
            begun = (*base_program(settings), Op("step", {"events": boundary}))
            for args in faults:
                ops = (*begun, Op("fault", args), *_lasting(args))
                found += [Schedule(under, seed, ops) for under in (settings, *_also_under(settings, args))]
                if args["name"] in BRIEF:
                    quick = {**settings, **QUICK}
                    found.append(Schedule(quick, seed, (*begun, Op("fault", args), *_brief(args, quick))))
    Random(f"{seed}/sweep").shuffle(found)
    return found


def _also_under(settings: Args, args: Args) -> Iterator[Args]:
    more = ALSO_UNDER.get(str(args["name"]))
    if more is not None:
        yield {**settings, **more}


def _lasting(args: Args) -> tuple[Op, ...]:
    """A send of its own falls into the fault, which lasts longer than slaveTimeout."""
    send = Op("send", {"producer": 1, "size": 200, "wait": True, "queue": 0})
    after = (Op("advance", {"ms": 50}), send, Op("advance", {"ms": 4_000}))
    return after + SEQUELS.get(str(args["name"]), ())


def _brief(args: Args, settings: Args) -> tuple[Op, ...]:
    """The fault is over at once, and sends are in flight when the pair finds together again."""
    return (Op("heal", {"name": args["name"]}), *base_program(settings), Op("advance", {"ms": 4_000}))


AT_ANY_TIME = ("intruder",)
"""Faults whose moment makes no difference: the other searches draw them."""
BRIEF = ("down", "kill", "power_loss", "restart")
QUICK: Args = {"haSendHeartbeatInterval": 500}
"""Under RocketMQ's default a slave's first report comes five seconds after its connect: too late for a waiting send."""

ALSO_UNDER: dict[str, Args] = {
    # A slave that goes on after a failed append closes all the same when the next frame does not fit, and under the
    # default size each record has a next frame. Here a record is one frame, so the last one may be lost unnoticed.
    "disk_full": {"haTransferBatchSize": 1_024},
}
"""Settings under which a fault is swept once more."""

SEQUELS: dict[str, tuple[Op, ...]] = {
    # A flush that never ends is answered after five seconds; what that answer was worth shows when the power fails.
    "disk_stall": (
        Op("advance", {"ms": 2_000}),
        Op("fault", {"name": "power_loss", "node": "master", "keep": "none"}),
        Op("advance", {"ms": 50}),
    ),
    # What waits is not for readers; and whether queues catch up by themselves shows as long as nothing more comes.
    "dispatch_stall": (
        *(Op("pull", {"reader": 0, "node": node, "queue": 0}) for node in ("master", "slave")),
        Op("advance", {"ms": 50}),
        Op("heal", {"name": "dispatch_stall"}),
        Op("advance", {"ms": 3_000}),
    ),
    # A lie is found out when the power fails.
    "lying_flush": (
        Op("fault", {"name": "power_loss", "node": "master", "keep": "none"}),
        Op("advance", {"ms": 50}),
    ),
    # A stranger keeps a slave out, or acknowledges in its place, only where the slave is away and comes back.
    "hostile": (
        Op("fault", {"name": "kill", "node": "slave"}),
        Op("send", {"producer": 0, "size": 200, "wait": True, "queue": 0}),
        Op("advance", {"ms": 1_000}),
        Op("heal", {"name": "kill"}),
        Op("advance", {"ms": 13_000}),
    ),
    # A close is delayed only where somebody closes.
    "slow_close": (
        Op("fault", {"name": "kill", "node": "slave"}),
        Op("advance", {"ms": 3_000}),
    ),
}
"""What follows a fault that shows its worst only together with another."""
