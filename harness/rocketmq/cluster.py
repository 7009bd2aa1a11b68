"""Seeded cluster trials: a name server, consumers that join and leave, tables that change, and faults of all of them.

Where a lab can start one, one trial in six has a second master (:mod:`failover`). The others are first the unchanged
:mod:`templates`: consumers whose master dies and returns, slow readers, an isolated slave. Later ones draw a few
operations and faults; half of them begin with a template that these disturb, if it allows that. Time passes in larger
steps than in a pair's trials, since routes, shares and tables are polled every few seconds. A schedule is a function of
(seed, number) and of the faults to draw; templates are the same in every lab.
"""

from __future__ import annotations

from random import Random

from ..ports import Fault
from ..ports.nodes import CanStartSecond
from ..renamed import drawn_as
from ..search import swarm
from ..trials import resolve
from ..trials.abilities import Place, can, simulates
from ..trials.schedule import Args, Op, Scalar, Schedule
from . import failover, topology
from .boundaries import varied
from .swarm import promoting_once
from .template import advance, heal, join
from .workloads import TEMPLATES

SLOTS = 9
GAPS_MS = (2, 100, 1_000, 3_100, 6_000, 11_000, 31_000)
LAST_MS = (3_100, 11_000, 31_000)
FAULT_BUDGET = 2
LONG_ONE_IN, LONG_SLOTS, LONG_FAULTS = 10, 60, 8
"""In the simulation one schedule in so many is long, with most operations, to combine several."""
SECOND_ONE_IN, SECOND = 6, 2
"""One schedule in so many has a second master, where a lab can start one; no long one, whose numbers are odd."""
DISTURBED = tuple(each for each in TEMPLATES if not each.alone)
USUAL = ("kill", "down", "stall", "pause", "restart")

SETTINGS: dict[str, tuple[Scalar, ...]] = {
    "brokerRole": ("SYNC_MASTER", "ASYNC_MASTER"),
    "flushDiskType": ("ASYNC_FLUSH", "SYNC_FLUSH"),
    "haSendHeartbeatInterval": (5_000, 500),
    "slaveReadEnable": (False, True, True),
    "accessMessageInMemoryMaxRatio": (40, 0),
    "totalMemory": (17_179_869_184, 17_179_869_184, 5_000),
    "offsetCheckInSlave": (False, False, False, True),
    "rocketmqVersion": ("4.9.7", "4.9.7", "4.9.7", "4.9.7", "4.9.7", "5.5.0", "4.4.0"),
    "lab.slaves": (1, 1, 1, 2),
    "lab.others": (0, 0, 0, 1),
    "lab.haMasterAddress": (0, 0, 1),
}
"""Settings that a schedule draws beside ``lab.nameServer``; shrinking prefers the first value."""


def schedule(seed: str, number: int, lab: Place | None = None) -> Schedule:
    """The schedule with this number under this seed, with faults that this lab can inject (None: any)."""
    story = number
    if lab is None or can(lab, CanStartSecond):
        if number % SECOND_ONE_IN == SECOND:
            return failover.schedule(seed, number)
        story -= (number - SECOND - 1) // SECOND_ONE_IN + 1
    if story < len(TEMPLATES):
        template = Random(f"{seed}/stories").sample(TEMPLATES, len(TEMPLATES))[story]
        return Schedule({"lab.nameServer": 1, **template.settings}, f"{seed}/{number}", template.ops)
    dice = Random(f"{seed}/whole/{number}")
    settings: dict[str, Scalar] = {"lab.nameServer": 1}
    settings |= {name: dice.choice(values) for name, values in SETTINGS.items()}
    ops: list[Op] = []
    if dice.random() < 0.5:
        template = dice.choice(DISTURBED)
        settings |= template.settings
        ops += template.ops
    elif dice.random() < 0.7:
        ops += [join(0, 0), advance(1_000)]
    faults = resolve.drawn(lab)
    usual = [each for each in USUAL if each in faults] or sorted(faults, key=drawn_as)
    chosen = [faults[dice.choice(usual if dice.random() < 0.6 else sorted(faults, key=drawn_as))] for _ in range(2)]
    operations = resolve.doable(lab)
    always = swarm.lots(operations)
    kinds = [*always, "gap", "gap", "fault"]
    long = number % LONG_ONE_IN == LONG_ONE_IN // 2 and simulates(lab)
    share, most = (0.7, LONG_FAULTS) if long else (0.4, FAULT_BUDGET)
    kinds += [each for each in ("heal", "step", *operations) if each not in always and dice.random() < share]
    kinds += ["heal", "heal"] if long else []
    budget = most
    for _ in range(LONG_SLOTS if long else dice.randint(2, SLOTS)):
        kind = dice.choice(kinds)
        if kind == "fault":
            if not budget:
                continue
            budget -= 1
        fault = dice.choice(chosen)
        op = swarm.draw(dice, operations[kind]) if kind in operations else draw(dice, kind, fault, settings)
        ops.append(op._replace(args=topology.within(op.args, settings)))
    if budget < most:
        # The last fault needs time to take effect.
        ops.append(advance(dice.choice(LAST_MS)))
    drawn = Schedule(settings, f"{seed}/{number}", tuple(ops))
    return varied(promoting_once(drawn) if long else drawn, seed, number, lab)


def draw(dice: Random, kind: str, fault: Fault, settings: Args) -> Op:
    """An operation of this name, for a trial with these settings."""
    if kind == "gap":
        return advance(dice.choice(GAPS_MS))
    if kind == "step":
        return Op("step", {"events": dice.randint(1, 25)})
    if kind == "heal":
        return heal(fault.name)
    return Op("fault", draw_fault(dice, fault, settings))


def draw_fault(dice: Random, fault: Fault, settings: Args) -> Args:
    """A fault's name and a value for each of its arguments that a trial with these settings has."""
    missing = topology.absent(topology.slaves(settings), topology.has_names(settings), topology.has_other(settings))
    drawn = {
        name: dice.choice([each for each in values if each not in missing]) for name, values in fault.arguments.items()
    }
    return {"name": fault.name, **drawn}
