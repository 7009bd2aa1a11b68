"""The swarm of RocketMQ pairs: the settings that it draws, the beginnings of schedules, and pairs with different file
sizes.

How a schedule is drawn: :mod:`pairproof.harness.search.swarm`.
"""

from __future__ import annotations

from collections.abc import Collection

from ..search import swarm
from ..trials import resolve
from ..trials.abilities import Place
from ..trials.schedule import Args, Op, Scalar, Schedule
from . import topology
from .boundaries import varied
from .settings import promised_slaves
from .template import BOTH_EXPIRE, advance, fault, heal, send

MISFIT_ONE_IN, MISFIT_SENDS = 50, 8
"""One schedule in so many has slaves whose mappedFileSizeCommitLog is not the master's."""
LONG_ONE_IN, LONG_SLOTS, LONG_FAULTS = 50, 200, 24
"""One in so many is long, for effects that need files to fill up and expire twice, or a third restart."""

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
"""Settings that a schedule draws; shrinking prefers the first value. See :func:`fitting`."""

FILE_SIZES = (512, 1_024, 2_048, 3_000, 4_096, 8_192, 65_536)
"""For such slaves."""

COUNTS_REPLICAS = ("5.5.0",)


def _sends(sizes: tuple[int, ...]) -> tuple[Op, ...]:
    return tuple(send(0, size=size) for size in sizes)


STARTS: tuple[tuple[Op, ...], ...] = (
    (),
    (),
    (),
    (*_sends((900, 1_700, 420)), advance(600)),
    (fault("down", link="ha"), *_sends((900, 900)), heal("down")),
    (fault("restart", node="master"), heal("restart"), advance(6_000)),
    (*_sends((420, 1_700, 1_700, 420)), advance(600), *BOTH_EXPIRE),
)
"""Beginnings of schedules: a new pair; a log of several files; a slave that lags and is down; a restarted master; logs
that do not begin at 0.
"""


def fitting(settings: Args, own: Collection[str] = ()) -> Args:
    """The settings with inSyncReplicas only in versions that have it, and with as many slaves as it needs.

    ``own``: names of the user's settings, which do not change.
    """
    replicas = int(settings.get("inSyncReplicas", 0))
    if not replicas or "inSyncReplicas" in own:
        return settings
    if settings.get("rocketmqVersion") not in COUNTS_REPLICAS:
        return {name: value for name, value in settings.items() if name != "inSyncReplicas"}
    if "lab.slaves" in own:
        return {**settings, "inSyncReplicas": min(replicas, topology.slaves(settings) + 1)}
    return {**settings, "lab.slaves": max(topology.slaves(settings), replicas - 1)}


def of_line(settings: Args, line: str) -> Args:
    """Drawn settings for a version line. A SYNC_MASTER that waits for no slave by default waits for one, unless they
    set inSyncReplicas.
    """
    given = {**settings, "rocketmqVersion": line}
    is_sync = given.get("brokerRole", "SYNC_MASTER") == "SYNC_MASTER"
    if is_sync and not promised_slaves({**given, "brokerRole": "SYNC_MASTER"}):
        given.setdefault("inSyncReplicas", 2)
    return given


def schedule(seed: str, number: int, lab: Place | None = None) -> Schedule:
    """The schedule with this number under this seed, with faults that this lab can inject (None: any)."""
    if number % MISFIT_ONE_IN == MISFIT_ONE_IN - 1:
        return _misfit(seed, number)
    more = (LONG_SLOTS, LONG_FAULTS) if number % LONG_ONE_IN == LONG_ONE_IN // 2 else ()
    drawn = promoting_once(swarm.schedule(resolve.system("rocketmq"), seed, number, lab, *more))
    return varied(drawn, seed, number, lab)


def promoting_once(drawn: Schedule) -> Schedule:
    """Without all promotions but the first: a second one may promote a log that joins two diverged ones."""
    promoting = [at for at, op in enumerate(drawn.ops) if op.args.get("name") == "promotion" and op.do != "heal"]
    left = set(promoting[1:])
    return drawn._replace(ops=tuple(op for at, op in enumerate(drawn.ops) if at not in left)) if left else drawn


def _misfit(seed: str, number: int) -> Schedule:
    dice = swarm.dice(seed, number)
    settings = fitting(swarm.draw_settings(SETTINGS, dice))
    sizes = [each for each in FILE_SIZES if each != settings["mappedFileSizeCommitLog"]]
    gap = [advance(dice.choice(swarm.GAPS_MS[3:])) for _ in range(MISFIT_SENDS)]
    ops = [op for pause in gap for op in (swarm.draw(dice, resolve.operations()["send"]), pause)]
    return Schedule({**settings, "lab.slaveFileSize": dice.choice(sizes)}, f"{seed}/{number}", tuple(ops))
