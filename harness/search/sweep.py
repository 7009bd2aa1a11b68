"""The exhaustive sweep: every single fault, at every event boundary of a warm pair with sends in flight.

A base program starts its sends at once; the fault begins after the k-th event that follows, for every k until the pair
is at rest, and one more send falls into the fault. Complete when it ends; a time box visits a seeded sample instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from pairproof.harness import places, resolve
from pairproof.harness.interpreter import Interpreter
from pairproof.harness.ports import CanStep, Fault, Lab, Target
from pairproof.harness.schedule import Args, Op, Schedule

ROLES = ("SYNC_MASTER", "ASYNC_MASTER")
FLUSHES = ("ASYNC_FLUSH", "SYNC_FLUSH")
SIZES = (1_300, 400)
"""Bodies of the base program's sends: the first needs several frames and holds a whole disk sector, and together they
cross a file border."""
MAX_BOUNDARIES = 500
SETTLED_MS = 200


def base_program() -> tuple[Op, ...]:
    """Two sends in flight at once, from two producers; the second does not wait."""
    return tuple(
        Op("send", {"producer": number % 2, "size": size, "wait": number != 1, "queue": number % 2})
        for number, size in enumerate(SIZES)
    )


def variants(fault: Fault, slaves: int = 1) -> Iterator[Args]:
    """Every combination of a fault's listed argument values, without places that the trial does not have."""
    names = list(fault.arguments)
    missing = places.absent(slaves)
    for values in product(*fault.arguments.values()):
        if missing.isdisjoint(values):
            yield {"name": fault.name, **dict(zip(names, values, strict=True))}


def boundaries(lab: Lab, target: Target, settings: Args) -> int:
    """How many events follow the base program until the pair is at rest; 0 where a lab cannot step."""
    session = lab.open(target, target.settings(settings), "sweep")
    try:
        if not isinstance(session, CanStep):
            return 0
        session.warm_up()
        interpreter = Interpreter(session, resolve.faults())
        for op in base_program():
            interpreter.do(op)
        return session.step(MAX_BOUNDARIES, SETTLED_MS)
    finally:
        session.close()


def schedules(lab: Lab, target: Target, seed: str) -> list[Schedule]:
    """The whole sweep, in an order that is shuffled by the seed so that any beginning of it is a fair sample."""
    found = []
    faults = [args for fault in resolve.faults().values() for args in variants(fault)]
    for role, flush in product(ROLES, FLUSHES):
        settings: Args = {"brokerRole": role, "flushDiskType": flush}
        for boundary in range(boundaries(lab, target, settings) + 1):
            begun = (*base_program(), Op("step", {"events": boundary}))
            for args in faults:
                found.append(Schedule(settings, seed, (*begun, Op("fault", args), *_lasting(args))))
                if args["name"] in BRIEF:
                    found.append(Schedule({**settings, **QUICK}, seed, (*begun, Op("fault", args), *_brief(args))))
    Random(f"{seed}/sweep").shuffle(found)
    return found


def _lasting(args: Args) -> tuple[Op, ...]:
    """A send of its own falls into the fault, which lasts longer than slaveTimeout."""
    send = Op("send", {"producer": 1, "size": 200, "wait": True, "queue": 0})
    after = (Op("advance", {"ms": 50}), send, Op("advance", {"ms": 4_000}))
    return after + SEQUELS.get(str(args["name"]), ())


def _brief(args: Args) -> tuple[Op, ...]:
    """The fault is over at once, and sends are in flight when the pair finds together again."""
    return (Op("heal", {"name": args["name"]}), *base_program(), Op("advance", {"ms": 4_000}))


BRIEF = ("down", "kill", "power_loss", "restart")
QUICK: Args = {"haSendHeartbeatInterval": 500}
"""Under RocketMQ's default a slave's first report comes five seconds after its connect: too late for a waiting send."""

SEQUELS: dict[str, tuple[Op, ...]] = {
    # A flush that never ends is answered after five seconds; what that answer was worth shows when the power fails.
    "disk_stall": (
        Op("advance", {"ms": 2_000}),
        Op("fault", {"name": "power_loss", "node": "master", "keep": "none"}),
        Op("advance", {"ms": 50}),
    ),
}
"""What follows a fault that shows its worst only together with another."""
