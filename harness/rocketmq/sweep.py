"""The sweep of RocketMQ pairs: its modes, its base program, and the operations after each fault.

The first mode has every fault with every combination of its listed arguments at every node and link of a pair. The
other modes have every fault at every node and HA link of that mode, in both directions, with its default numbers; with
two slaves, only at the second one. Left out: other numbers outside the first mode, older versions.
"""

from __future__ import annotations

from ..system import PAIR, Mode, Swept
from ..trials.schedule import Args, Op
from .template import advance, fault, heal, pull, send

ROLES = ("SYNC_MASTER", "ASYNC_MASTER")
SIZES = (1_300, 400)
"""Bodies of the base program's sends: the first needs several frames and holds a whole disk sector, and together they
cross a file boundary.
"""
SLOW_FLUSH: Args = {"flushDiskType": "SYNC_FLUSH", "lab.flushMicros": 2_000}
"""The second send arrives while the first is flushed."""

_NODES = frozenset({"master", "slave", "ha"})
MODES = (
    Mode({"brokerRole": "SYNC_MASTER", "flushDiskType": "ASYNC_FLUSH"}, PAIR, every_number=True),
    Mode({"brokerRole": "SYNC_MASTER", **SLOW_FLUSH}, _NODES, every_number=False),
    Mode({"brokerRole": "ASYNC_MASTER", "flushDiskType": "ASYNC_FLUSH"}, _NODES, every_number=False),
    Mode({"brokerRole": "ASYNC_MASTER", **SLOW_FLUSH}, _NODES, every_number=False),
    Mode({"haPushes": "flushed", "flushDiskType": "ASYNC_FLUSH"}, _NODES, every_number=False),
    Mode({"haPushes": "flushed", **SLOW_FLUSH}, _NODES, every_number=False),
    Mode({"lab.slaves": 2}, frozenset({"slave2", "ha2"}), every_number=False),
)


def base_program(settings: Args) -> tuple[Op, ...]:
    """Two sends of two producers, in flight at once; the second waits only if sends wait for a flush."""
    both = settings.get("flushDiskType") == "SYNC_FLUSH"
    return tuple(
        Op("send", {"producer": number % 2, "size": size, "wait": both or number != 1, "queue": number % 2})
        for number, size in enumerate(SIZES)
    )


AT_ANY_TIME = ("rogue_client",)
"""Faults whose moment makes no difference: only the other searches draw them."""
BRIEF = ("down", "kill", "power_loss", "restart")
QUICK: Args = {"haSendHeartbeatInterval": 500}
"""With RocketMQ's default a slave's first report follows its connect after five seconds: too late for a waiting
send.
"""

ALSO_UNDER: dict[str, Args] = {
    # A slave that continues after a failed append still closes if the next frame does not fit, and with the default
    # size each record has a next frame. Here a record is one frame, so the last one may be lost undetected.
    "disk_full": {"haTransferBatchSize": 1_024},
}
"""Further settings under which a fault is swept again."""

LOSES_POWER = (fault("power_loss", node="master", keep="none"), advance(50))
SEQUELS: dict[str, tuple[Op, ...]] = {
    # A flush that never ends is answered after five seconds; a power loss shows whether the answer was true.
    "disk_stall": (advance(2_000), *LOSES_POWER),
    # Delayed dispatch hides messages from readers; whether queues catch up by themselves shows only without further
    # messages.
    "dispatch_stall": (pull("master"), pull("slave"), advance(50), heal("dispatch_stall"), advance(3_000)),
    # A power loss reveals a lying disk.
    "lying_flush": LOSES_POWER,
    # A rogue slave keeps a slave out, or acknowledges in its place, only while the slave is away and returns.
    "rogue_slave": (
        fault("kill", node="slave"), send(0, wait=True, size=200), advance(1_000), heal("kill"), advance(13_000),
    ),
    # A close is delayed only if a node closes.
    "slow_close": (fault("kill", node="slave"), advance(3_000)),
}  # fmt: skip
"""The operations after a fault that has its worst effect only together with another."""
DURING = (Op("send", {"producer": 1, "size": 200, "wait": True, "queue": 0}),)

SWEPT = Swept(MODES, base_program, DURING, ("files",), AT_ANY_TIME, BRIEF, QUICK, ALSO_UNDER, SEQUELS)
