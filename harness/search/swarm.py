"""Seeded swarm schedules: each draws its own few kinds of operation and fault, then fills a fixed number of slots.

Leaving most faults out of each schedule is what finds most: with everything on, most programs break replication early
and test little else. Half of the schedules do not start from a pair that has just been warmed up, but from one that has
something behind it. A schedule is a function of (seed, number) and of the faults that there are to draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from pairproof.harness import resolve
from pairproof.harness.operation import Operation
from pairproof.harness.ports import Fault, Lab
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args, Op, Scalar, Schedule

SLOTS = 12
GAPS_MS = (1, 2, 5, 20, 100, 600, 3_100, 6_000, 21_000)
POINTS = ("append", "flush", "send", "recv")
FAULT_BUDGET = 3
MISFIT_ONE_IN, MISFIT_SENDS = 50, 8
"""One schedule in so many has slaves whose mappedFileSizeCommitLog is not the master's."""

SETTINGS: dict[str, tuple[Scalar, ...]] = {
    "brokerRole": ("SYNC_MASTER", "SYNC_MASTER", "ASYNC_MASTER"),
    "flushDiskType": ("ASYNC_FLUSH", "SYNC_FLUSH"),
    "mappedFileSizeCommitLog": (2_048, 4_096, 65_536),
    "haTransferBatchSize": (512, 100, 32_768),
    "haSlaveFallbehindMax": (268_435_456, 268_435_456, 3_000),
    "haSendHeartbeatInterval": (5_000, 5_000, 500),
    "lab.bufferBytes": (65_536, 65_536, 600),
    "lab.slaves": (1, 1, 1, 1, 2, 3),
    "haPushes": ("written", "written", "flushed"),
    "rocketmqVersion": ("4.9.7", "4.9.7", "4.9.7", "4.9.7", "5.5.0", "5.5.0", "4.9.2", "4.4.0"),
    "inSyncReplicas": (0, 0, 2, 3),
    "flushCommitLogLeastPages": (4, 4, 1, 0),
    "flushCommitLogThoroughInterval": (10_000, 10_000, 1_000),
    "flushConsumeQueueLeastPages": (2, 0),
}
"""Settings that a schedule draws; the first value is the one that shrinking prefers. See :func:`fitting`."""

FILE_SIZES = (512, 1_024, 2_048, 3_000, 4_096, 8_192, 65_536)
"""Of such slaves."""

COUNTS_REPLICAS = ("5.5.0",)
"""Versions that have inSyncReplicas."""


def _sends(sizes: tuple[int, ...]) -> tuple[Op, ...]:
    return tuple(Op("send", {"producer": 0, "size": size, "wait": False, "queue": 0}) for size in sizes)


STARTS: tuple[tuple[Op, ...], ...] = (
    (),
    (),
    (),
    (*_sends((900, 1_700, 420)), Op("advance", {"ms": 600})),
    (Op("fault", {"name": "down", "link": "ha"}), *_sends((900, 900)), Op("heal", {"name": "down"})),
    (Op("fault", {"name": "restart", "node": "master"}), Op("heal", {"name": "restart"}), Op("advance", {"ms": 6_000})),
)
"""What a schedule begins with: a fresh pair; a log of several files; a slave that is behind and away; a master that was
restarted."""


def fitting(settings: Args) -> Args:
    """The settings with inSyncReplicas only where the version has it, and with as many slaves as it needs."""
    replicas = int(settings.get("inSyncReplicas", 0))
    if not replicas:
        return settings
    if settings.get("rocketmqVersion") not in COUNTS_REPLICAS:
        return {name: value for name, value in settings.items() if name != "inSyncReplicas"}
    return {**settings, "lab.slaves": max(places.slaves(settings), replicas - 1)}


def draw_settings(dice: Random) -> Args:
    """One value for each of :data:`SETTINGS`, made to fit."""
    return fitting({name: dice.choice(values) for name, values in SETTINGS.items()})


def draw_fault(dice: Random, fault: Fault) -> Args:
    """A fault's name and one value for each of its arguments, of those that a pair has."""
    drawn = {name: dice.choice(places.of_a_pair(values)) for name, values in fault.arguments.items()}
    return {"name": fault.name, **drawn}


def lots(operations: Mapping[str, Operation]) -> list[str]:
    """Names of the operations that every schedule has, each as often as it has lots."""
    return [name for name, each in operations.items() if each.drawn for _ in range(each.drawn.always)]


def draw(dice: Random, operation: Operation) -> Op:
    """The operation with one value for each of its arguments."""
    return Op(operation.name, {name: each.draw(dice) for name, each in operation.arguments.items()})


def schedule(seed: str, number: int, lab: Lab | None = None) -> Schedule:
    """The schedule with this number under this seed, with faults that this lab can inject (any, unless told)."""
    dice = Random(f"{seed}/swarm/{number}")
    if number % MISFIT_ONE_IN == MISFIT_ONE_IN - 1:
        return _misfit(dice, f"{seed}/{number}")
    settings = draw_settings(dice)
    faults = resolve.drawn(lab)
    chosen = [faults[name] for name in dice.sample(sorted(faults), min(dice.randint(1, FAULT_BUDGET), len(faults)))]
    operations = {name: each for name, each in resolve.doable(lab).items() if each.drawn and not each.drawn.whole}
    kinds = [*lots(operations), "gap", "step", "fault", "fault"]
    kinds += [kind for kind in ("heal", "arm", *operations, "gap") if dice.random() < 0.5]
    ops = list(dice.choice(STARTS))
    budget = FAULT_BUDGET
    for _ in range(SLOTS):
        kind = dice.choice(kinds)
        if kind in ("fault", "arm"):
            if not budget:
                continue
            budget -= 1
        fault = dice.choice(chosen)
        op = draw(dice, operations[kind]) if kind in operations else _draw(dice, kind, fault)
        ops.append(op._replace(args=places.within(op.args, settings)))
    return Schedule(settings, f"{seed}/{number}", tuple(ops))


def _misfit(dice: Random, seed: str) -> Schedule:
    """A pair whose files have two sizes; nothing else is wrong, since that would be another story."""
    settings = draw_settings(dice)
    sizes = [each for each in FILE_SIZES if each != settings["mappedFileSizeCommitLog"]]
    gap = [Op("advance", {"ms": dice.choice(GAPS_MS[3:])}) for _ in range(MISFIT_SENDS)]
    send = resolve.operations()["send"]
    ops = [op for pause in gap for op in (draw(dice, send), pause)]
    return Schedule({**settings, "lab.slaveFileSize": dice.choice(sizes)}, seed, tuple(ops))


def _draw(dice: Random, kind: str, fault: Fault) -> Op:
    if kind == "gap":
        return Op("advance", {"ms": dice.choice(GAPS_MS)})
    if kind == "step":
        return Op("step", {"events": dice.randint(1, 25)})
    if kind == "heal":
        return Op("heal", {"name": fault.name})
    args = draw_fault(dice, fault)
    if kind == "fault":
        return Op("fault", args)
    node = args.get("node", dice.choice(places.NODES))
    return Op("arm", {**args, "node": node, "point": dice.choice(POINTS), "nth": dice.randint(1, 4)})
