"""Settings at boundary values of brokers, and an end at which the pair stops, for shares of the seeded trials.

:data:`BOUNDARIES` has a row for each subject: limits, periods, sizes of files, and values that differ between the two
ends of a pair (``master.KEY``, ``slave.KEY``). They are drawn from their own random stream, in addition to a
search's draws, so every other trial is unchanged. RocketMQ accepts each value and keeps its promises under it:
haHousekeepingInterval stays above every heartbeat interval and a poll.

Left out: real-time labs, which set short intervals themselves (see ``pace``); settings that hide the pair from its
clients (autoCreateSubscriptionGroup); an index at one end only, which a promotion would move.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from ..trials import resolve
from ..trials.abilities import Place, simulates
from ..trials.schedule import Args, Op, Scalar, Schedule
from . import topology
from .moments import at_moments
from .settings import COMMIT_INTERVAL, COMMIT_THOROUGH, POOL
from .template import AGING

CLOSING_SHARE = 0.2
CLOSINGS = ("restart", "restart", "kill")
"""How brokers stop at such an end; audits then show missing or wrong saves."""
UNEVEN_SHARE = 0.3
UNEVEN: tuple[tuple[str, tuple[Scalar, ...]], ...] = (
    ("lab.gatherMicros", (0, 0, 1_000, 20_000)),
    ("lab.spread", (2, 5, 10)),
)
"""Each in a share of the trials: how long the network waits to combine writes (0: only writes of the same moment), and
the variation of latencies and flushes.
"""
CONVERSATION_SHARE = 0.3
"""The share of trials that end with conformance conversations; for listed trials see :data:`LISTED_ONE_IN`."""
LISTED_ONE_IN = 8
CONVERSATIONS = "lab.conversations"
NOTHING_ASKED = -1
ADDRESS_SHARE = 0.25
ADDRESSES: tuple[Args, ...] = (
    {"brokerIP2": "10.1.0.1"},
    {"brokerIP2": "10.1.0.1", "lab.haMasterAddress": 1},
    {"brokerIP2": "10.1.0.1", "haListenPort": 10_914, "rocketmqVersion": "5.5.0"},
    {"haListenPort": 10_914},
)
"""Addresses for slaves beside those for clients, in a share of the trials with a name server."""
POOL_SHARE = 0.06
_POOLED: Args = {POOL: True, "flushDiskType": "ASYNC_FLUSH"}
POOLS: tuple[Args, ...] = (
    _POOLED,
    _POOLED,
    {**_POOLED, "brokerRole": "ASYNC_MASTER", COMMIT_THOROUGH: 1_000},
    {**_POOLED, "commitCommitLogLeastPages": 0},
    {**_POOLED, "commitCommitLogLeastPages": 1, COMMIT_INTERVAL: 1_000, COMMIT_THOROUGH: 3_000},
    {POOL: True, "flushDiskType": "SYNC_FLUSH", "rocketmqVersion": "5.5.0"},
)
"""Transient store pools, in a share of the trials; conformance conversations would show too little with them."""
SHARE = 0.25
MOST = 3

_TWO_SLAVES: Args = {"rocketmqVersion": "5.5.0", "brokerRole": "SYNC_MASTER", "inSyncReplicas": 3, "lab.spread": 10}
"""Sends wait for two slaves with different speeds."""

BOUNDARIES: tuple[tuple[Args, ...], ...] = (
    (
        {"master.haSendHeartbeatInterval": 500, "slave.haSendHeartbeatInterval": 5_000},
        {"master.haSendHeartbeatInterval": 5_000, "slave.haSendHeartbeatInterval": 500},
        {"master.haSendHeartbeatInterval": 1_000, "slave.haSendHeartbeatInterval": 4_900},
    ),
    (
        {"haHousekeepingInterval": 6_500},
        {"master.haHousekeepingInterval": 6_500},
        {"slave.haHousekeepingInterval": 6_500},
    ),
    ({"slaveTimeout": 300, "syncFlushTimeout": 500}, {"slaveTimeout": 6_000, "syncFlushTimeout": 3_000}),
    ({"flushIntervalCommitLog": 10}, {"flushIntervalCommitLog": 3_000}),
    ({"flushCommitLogThoroughInterval": 0}, {"flushCommitLogThoroughInterval": 700}),
    ({"flushIntervalConsumeQueue": 100}, {"flushIntervalConsumeQueue": 2_500}),
    ({"flushConsumeQueueThoroughInterval": 0}, {"flushConsumeQueueThoroughInterval": 3_000}),
    ({"maxMessageSize": 700}, {"maxMessageSize": 1_500}),
    ({"haTransferBatchSize": 50}, {"haTransferBatchSize": 511}, {"haTransferBatchSize": 2_048}),
    ({"haSlaveFallbehindMax": 1}, {"haSlaveFallbehindMax": 1_000}),
    ({"mappedFileSizeConsumeQueue": 20}, {"mappedFileSizeConsumeQueue": 41}, {"mappedFileSizeConsumeQueue": 2_000}),
    ({"maxHashSlotNum": 1}, {"maxIndexNum": 2}, {"maxHashSlotNum": 1, "maxIndexNum": 3}),
    ({"messageIndexEnable": False},),
    ({"autoCreateTopicEnable": False}, {"defaultTopicQueueNums": 5}, {"defaultTopicQueueNums": 16}),
    ({"cleanResourceInterval": 1_000}, {"cleanResourceInterval": 60_000}),
    ({"brokerClusterName": "another"},),
    ({"flushConsumerOffsetInterval": 500}, {"flushConsumerOffsetInterval": 20_000}),
    ({"registerNameServerPeriod": 1}, {"registerNameServerPeriod": 11_000}, {"registerNameServerPeriod": 60_001}),
    ({"lab.absentNameServers": 1}, {"lab.absentNameServers": 2}),
    ({"longPollingEnable": False},),
    ({"messageDelayLevel": "1s"}, {"messageDelayLevel": "1s 3s 2s"}),
    ({"offsetCheckInSlave": True},),
    (
        {"slaveReadEnable": True, "totalMemory": 2_000},
        {"slaveReadEnable": True, "totalMemory": 5_000, "accessMessageInMemoryMaxRatio": 100},
        {"slaveReadEnable": True, "accessMessageInMemoryMaxRatio": 0},
    ),
    ({"lab.pullMessages": 1}, {"lab.pullMessages": 2}, {"lab.pullMessages": 3}),
    ({"lab.flushMicros": 20_000}, {"lab.latencyMicros": 5_000}),
    ({"mappedFileSizeCommitLog": 1_048_576, "haTransferBatchSize": 32_768},),
    (AGING,),
    (_TWO_SLAVES, {**_TWO_SLAVES, "inSyncReplicas": 4}),
)


def drawn_values() -> Mapping[str, set[Scalar]]:
    """Every setting that is drawn here, with its values."""
    found: dict[str, set[Scalar]] = {}
    for name, value in (pair for row in (*BOUNDARIES, ADDRESSES, POOLS) for each in row for pair in each.items()):
        found.setdefault(name, set()).add(value)
    return found | {name: set(values) for name, values in UNEVEN} | {CONVERSATIONS: {0}}


def at_boundaries(drawn: Schedule, seed: str, number: int, lab: Place | None) -> Schedule:
    """The schedule with this number under this seed, with further settings in a share of them."""
    dice = Random(f"{seed}/borders/{number}")
    if dice.random() >= SHARE or not simulates(lab):
        return drawn
    chosen: dict[str, Scalar] = {}
    for row in dice.sample(BOUNDARIES, dice.randint(1, MOST)):
        chosen.update(dice.choice(row))
    # A trial that waits for more slaves has them; slaves of the program stay.
    return drawn._replace(settings=resolve.system("rocketmq").fit({**drawn.settings, **chosen}))


def _closing(drawn: Schedule, seed: str, number: int, lab: Place | None) -> Schedule:
    """The schedule with this number under this seed; a share of them stops master and slave at the end."""
    dice = Random(f"{seed}/closing/{number}")
    if dice.random() >= CLOSING_SHARE or not simulates(lab):
        return drawn
    name, nodes = dice.choice(CLOSINGS), dice.sample(topology.NODES[:2], 2)
    if name not in resolve.drawn(lab):
        return drawn
    return drawn._replace(ops=drawn.ops + tuple(Op("fault", {"name": name, "node": node}) for node in nodes))


def varied(drawn: Schedule, seed: str, number: int, lab: Place | None) -> Schedule:
    """The schedule with this number under this seed, with variations in a share of them."""
    for share in (at_boundaries, _closing, _uneven, _without_conversations, _addressed, _pooled, at_moments):
        drawn = share(drawn, seed, number, lab)
    return drawn


def _without_conversations(drawn: Schedule, seed: str, number: int, lab: Place | None) -> Schedule:
    """The schedule with this number under this seed; most lose their conformance conversations, which cost a third."""
    if not simulates(lab) or Random(f"{seed}/visited/{number}").random() < CONVERSATION_SHARE:
        return drawn
    return drawn._replace(settings={**drawn.settings, CONVERSATIONS: 0})


def _addressed(drawn: Schedule, seed: str, number: int, lab: Place | None) -> Schedule:
    """The schedule with this number under this seed; in a share of cluster trials brokers have a second address."""
    dice = Random(f"{seed}/addresses/{number}")
    if dice.random() >= ADDRESS_SHARE or not topology.has_names(drawn.settings) or not simulates(lab):
        return drawn
    return drawn._replace(settings=resolve.system("rocketmq").fit({**drawn.settings, **dice.choice(ADDRESSES)}))


def _pooled(drawn: Schedule, seed: str, number: int, lab: Place | None) -> Schedule:
    """The schedule with this number under this seed; in a share of them the brokers have a transient store pool."""
    dice = Random(f"{seed}/pools/{number}")
    if dice.random() >= POOL_SHARE or not simulates(lab):
        return drawn
    chosen = {**drawn.settings, **dice.choice(POOLS), CONVERSATIONS: 0}
    return drawn._replace(settings=resolve.system("rocketmq").fit(chosen))


def listed(schedule: Schedule, number: int) -> Schedule:
    """A listed schedule with this number: one in a few has a conformance conversation, each a different one.

    All listed schedules have the same seed, so all would have the same conversation.
    """
    which = NOTHING_ASKED if number % LISTED_ONE_IN else 1 + number // LISTED_ONE_IN
    return schedule._replace(settings={**schedule.settings, CONVERSATIONS: which})


def _uneven(drawn: Schedule, seed: str, number: int, lab: Place | None) -> Schedule:
    """The schedule with this number under this seed; in a share of them network and disk times vary more than usual."""
    if not simulates(lab):
        return drawn
    dice = Random(f"{seed}/uneven/{number}")
    more = {name: dice.choice(values) for name, values in UNEVEN if dice.random() < UNEVEN_SHARE}
    return drawn._replace(settings={**drawn.settings, **more}) if more else drawn
