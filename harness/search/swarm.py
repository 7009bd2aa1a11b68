"""Seeded swarm schedules: each draws a few operations and faults, then fills a fixed number of slots.

Schedules with few faults find most: with all faults, most programs break replication early and test little else. Half
of the schedules start from a pair with earlier operations instead of a new one. A schedule is a function of (seed,
number), of the target's system and of the faults to draw.
"""

from collections.abc import Mapping, Sequence
from random import Random

from ..ports import Fault
from ..ports.timing import POINTS
from ..renamed import drawn_as
from ..system import System
from ..trials import resolve
from ..trials.abilities import Place
from ..trials.operation import Operation
from ..trials.schedule import Args, Op, Scalar, Schedule

SLOTS = 12
GAPS_MS = (1, 2, 5, 20, 100, 600, 3_100, 6_000, 21_000)
FAULT_BUDGET = 3


def dice(seed: str, number: int) -> Random:
    """The random numbers of the schedule with this number under this seed."""
    return Random(f"{seed}/swarm/{number}")


def draw_settings(settings: Mapping[str, Sequence[Scalar]], dice: Random) -> Args:
    """A value for each setting."""
    return {name: dice.choice(values) for name, values in settings.items()}


def lots(operations: Mapping[str, Operation]) -> list[str]:
    """Names of the operations that every schedule has, each as often as its weight."""
    return [name for name, each in operations.items() if each.drawn for _ in range(each.drawn.always)]


def draw(dice: Random, operation: Operation) -> Op:
    """The operation with a value for each of its arguments."""
    return Op(operation.name, {name: each.draw(dice) for name, each in operation.arguments.items()})


def schedule(
    system: System, seed: str, number: int, lab: Place | None = None, slots: int = SLOTS, budget: int = FAULT_BUDGET
) -> Schedule:
    """The schedule with this number under this seed, with faults that this lab can inject (None: any).

    ``slots`` to fill, with at most so many faults; longer schedules heal more often.
    """
    thrown = dice(seed, number)
    settings = system.fit(draw_settings(system.settings[0], thrown))
    faults = resolve.drawn(lab)
    chosen = [
        faults[name]
        for name in thrown.sample(sorted(faults, key=drawn_as), min(thrown.randint(1, FAULT_BUDGET), len(faults)))
    ]
    operations = {name: each for name, each in resolve.doable(lab).items() if each.drawn and not each.drawn.whole}
    kinds = [*lots(operations), "gap", "step", "fault", "fault"]
    kinds += [kind for kind in ("heal", "arm", *operations, "gap") if thrown.random() < 0.5]
    kinds += ["heal", "heal"] if slots > SLOTS else []
    ops = list(thrown.choice(system.starts))
    for _ in range(slots):
        kind = thrown.choice(kinds)
        if kind in ("fault", "arm"):
            if not budget:
                continue
            budget -= 1
        fault = thrown.choice(chosen)
        known = kind in operations
        op = draw(thrown, operations[kind]) if known else _draw(thrown, kind, fault, system)
        ops.append(op._replace(args=system.within(op.args, settings)))
    return Schedule(settings, f"{seed}/{number}", tuple(ops))


def _draw(dice: Random, kind: str, fault: Fault, system: System) -> Op:
    if kind == "gap":
        return Op("advance", {"ms": dice.choice(GAPS_MS)})
    if kind == "step":
        return Op("step", {"events": dice.randint(1, 25)})
    if kind == "heal":
        return Op("heal", {"name": fault.name})
    drawn = {name: dice.choice(system.of_a_pair(values)) for name, values in fault.arguments.items()}
    args: Args = {"name": fault.name, **drawn}
    if kind == "fault":
        return Op("fault", args)
    node = args.get("node", dice.choice(system.nodes))
    return Op("arm", {**args, "node": node, "point": dice.choice(POINTS), "nth": dice.randint(1, 4)})
