"""Seeded trials of a failover in place: a second master of the pair's name, at its own address, beside the first one.

The first one is unharmed, ended, paused or cut off meanwhile, and returns before or after the second one is given up. A
schedule is a function of (seed, number). Left out: consumers, whose progress two masters of one name divide; a second
slave; the first master as a slave of the second.
"""

from __future__ import annotations

from random import Random

from ..trials.schedule import Op, Scalar, Schedule
from .template import advance, fault, heal, send, topic

SETTINGS: dict[str, tuple[Scalar, ...]] = {
    "brokerRole": ("SYNC_MASTER", "ASYNC_MASTER"),
    "flushDiskType": ("ASYNC_FLUSH", "SYNC_FLUSH"),
    "rocketmqVersion": ("4.9.7", "4.9.7", "4.9.7", "5.5.0", "4.4.0"),
    "lab.haMasterAddress": (0, 0, 1),
}
FIRST = (
    None,
    fault("kill", node="master"),
    fault("pause", node="master"),
    fault("down", link="names-master"),
    fault("power_loss", node="master", keep="all"),
    fault("restart", node="master"),
)
"""What happens to the first master."""
SECOND = (
    fault("kill", node="other"),
    fault("pause", node="other"),
    fault("down", link="names-other"),
    fault("restart", node="other"),
    fault("kill", node="names"),
)
"""What may happen while there are two."""
SHORT_MS = (100, 1_000, 3_100)
GAPS_MS = (*SHORT_MS, 11_000, 31_000, 61_000)
LONG_MS = 131_000
"""Longer than a name server keeps a silent broker."""
MOST = 6


def schedule(seed: str, number: int) -> Schedule:
    """The schedule with this number under this seed."""
    dice = Random(f"{seed}/second master/{number}")
    settings: dict[str, Scalar] = {"lab.nameServer": 1, "lab.others": 2, "lab.slaves": 1}
    settings |= {name: dice.choice(values) for name, values in SETTINGS.items()}
    ops = [_produce(dice), advance(dice.choice((1_000, 11_000)))]
    first = dice.choice(FIRST)
    ended = [] if first is None else [first, advance(dice.choice((0, 1_000, 31_000, LONG_MS)))]
    second = [fault("second_master", node="slave", ends=dice.choice(("stop", "kill"))), advance(dice.choice(GAPS_MS))]
    # Where the first one is left alone it may also fail later.
    ops += [*ended, *second] if dice.random() < 0.6 else [*second, *ended]
    waiting = ["second_master", *([] if first is None else [str(first.args["name"])])]
    for _ in range(dice.randint(1, MOST)):
        what = dice.choice(("produce", "gap", "fault", "heal", "change"))
        if what == "fault":
            ops += [dice.choice(SECOND), advance(dice.choice(SHORT_MS))]
            waiting.append(str(ops[-2].args["name"]))
        elif what == "heal" and waiting:
            ops += _healed(dice, waiting.pop(dice.randrange(len(waiting))))
        elif what == "change":
            ops.append(dice.choice((topic(dice.randint(1, 4), "master"), send(0))))
        else:
            ops.append(_produce(dice) if what == "produce" else advance(dice.choice(GAPS_MS)))
    for name in dice.sample(waiting, len(waiting)):
        ops += _healed(dice, name)
    return Schedule(settings, f"{seed}/{number}", (*ops, advance(31_000), _produce(dice)))


def _healed(dice: Random, name: str) -> tuple[Op, Op]:
    """The end of a fault, and a moment after which the name server's table is read."""
    return heal(name), advance(dice.choice(SHORT_MS))


def _produce(dice: Random) -> Op:
    how = dice.choice(("turn", "turn", "order", "one-way"))
    return Op("produce", {"producer": dice.randrange(3), "how": how, "wait": dice.random() < 0.3, "queue": 0})
