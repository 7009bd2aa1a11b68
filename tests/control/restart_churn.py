"""Cluster trials in which things go down and come back while calls are under way, over ways of up to 50 ms.

What laws remember of an earlier life, and what answers bring that were sent before a restart, shows here almost
two hundred times as often as in trials whose faults fall between two operations.
"""

from __future__ import annotations

from random import Random

from pairproof.harness.rocketmq import cluster
from pairproof.harness.trials.schedule import Op, Schedule

LATENCIES_MICROS = (500, 5_000, 20_000, 50_000)
FAULTS = ("kill", "kill", "restart", "power_loss", "reset", "read_only")
LINKS = ("client-master", "client-slave", "ha")
PAUSES_MS = (2, 30, 100, 1_000)


def schedule(seed: str, number: int, lab: object = None) -> Schedule:
    """The schedule with this number under this seed."""
    made = cluster.schedule(seed, number)
    dice = Random(f"{seed}/restless/{number}")
    settings = {**made.settings, "lab.latencyMicros": dice.choice(LATENCIES_MICROS)}
    if dice.random() < 0.3:
        settings["lab.spread"] = 5
    nodes = ("master", "master", "slave", "names", *(("other",) if made.settings.get("lab.others") else ()))
    ops: list[Op] = []
    for op in made.ops:
        ops.append(op)
        if op.do != "heal" and dice.random() < 0.12:
            ops += _blow(dice, nodes)
    return made._replace(settings=settings, ops=tuple(ops))


def _blow(dice: Random, nodes: tuple[str, ...]) -> list[Op]:
    """Something goes down and comes back at once, after some events of what is under way."""
    name = dice.choice(FAULTS)
    where = {"link": dice.choice(LINKS)} if name == "reset" else {"node": dice.choice(nodes)}
    if name == "power_loss":
        where |= {"node": dice.choice(nodes[:3]), "keep": dice.choice(("none", "all", "half"))}
    elif name == "read_only":
        where = {"node": dice.choice(nodes[:3])}
    ops = [Op("fault", {"name": name, **where}), Op("heal", {"name": name})]
    if dice.random() < 0.7:
        ops.insert(0, Op("step", {"events": dice.randint(1, 25)}))
    if dice.random() < 0.3:
        ops.append(Op("advance", {"ms": dice.choice(PAUSES_MS)}))
    return ops
