"""RocketMQ's settings in a history's ``config`` events, completed by the defaults of 4.9; and the waits of its
versions.

:data:`LINES` has the observable differences between version lines in waiting for slaves.

Left out: settings that no law needs; they stay in the event unchanged. Sources for the lines:
HAService.GroupTransferService, CommitLog.GroupCommitRequest and CommitLog.handleHA of 4.4.0, 4.6.0, 4.7.0, 4.7.1,
4.9.2, 4.9.7 and 5.5.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

DEFAULTS: Mapping[str, int] = {
    "mappedFileSizeCommitLog": 1_073_741_824,
    "haTransferBatchSize": 32_768,
    "haSendHeartbeatInterval": 5_000,
    "haHousekeepingInterval": 20_000,
    "haSlaveFallbehindMax": 268_435_456,
    "maxMessageSize": 4_194_304,
    "slaveTimeout": 3_000,
    "syncFlushTimeout": 5_000,
    "flushIntervalCommitLog": 500,
    "flushCommitLogThoroughInterval": 10_000,
    "commitIntervalCommitLog": 200,
    "commitCommitLogLeastPages": 4,
    "commitCommitLogThoroughInterval": 200,
    "mappedFileSizeConsumeQueue": 6_000_000,
    "flushIntervalConsumeQueue": 1_000,
    "flushConsumeQueueLeastPages": 2,
    "flushConsumeQueueThoroughInterval": 60_000,
    "fileReservedTime": 72,
    "cleanResourceInterval": 10_000,
    "inSyncReplicas": 0,
}
"""RocketMQ 4.9's defaults: bytes, milliseconds, hours; 0 replicas for the version's own default."""

HEARTBEAT, HOUSEKEEPING = "haSendHeartbeatInterval", "haHousekeepingInterval"
RATIO = 40
"""The default accessMessageInMemoryMaxRatio, percent."""

VERSION = "4.9.7"


class Line(NamedTuple):
    """The promise of a version line to sends that wait for a slave."""

    since: tuple[int, ...]
    wait: str
    """The setting with the waiting time of a send, ms."""
    replicas: int = 2
    """How many brokers, including the master, hold a SYNC_MASTER's message before PUT_OK."""
    counts_replicas: bool = False
    """Whether inSyncReplicas may set another number; then no answer is SLAVE_NOT_AVAILABLE."""
    wake_ups: int = 0
    """The number of wake-ups, of at most a second each, that may end the wait early; 0: never."""
    in_turn: bool = False
    """Whether sends wait one after the other, so that one without a copy may delay later ones."""
    least_from_turn: bool = False
    """Whether FLUSH_SLAVE_TIMEOUT is too early before the whole wait after the send's turn; otherwise after its
    append.
    """
    most_from_turn: bool = False
    """Whether an answer is due the whole wait after the send's turn began; otherwise after its append."""
    flush_first: bool = False
    """Whether the wait for a slave begins after the wait for the disk."""


LINES = (
    Line((5,), "slaveTimeout", 1, counts_replicas=True),
    Line((4, 9, 3), "slaveTimeout"),
    Line((4, 7, 1), "syncFlushTimeout", in_turn=True, least_from_turn=True, most_from_turn=True),
    # A send that is covered more than its whole wait after the append is also answered FLUSH_SLAVE_TIMEOUT.
    Line((4, 7), "syncFlushTimeout", in_turn=True, most_from_turn=True),
    # In earlier versions the sender itself stops waiting, whatever the thread does.
    Line((4, 6), "syncFlushTimeout", in_turn=True, flush_first=True),
    Line((0,), "syncFlushTimeout", wake_ups=5, in_turn=True, flush_first=True),
)
"""Newest first."""

Settings = Mapping[str, int | str]


@lru_cache(maxsize=256)
def parse(detail: str) -> Settings:
    """The settings of a ``config`` event's JSON text; numbers may be texts, as in properties files.

    ValueError for text that is not a JSON object, or an invalid number. Cached, since the same few texts occur in
    thousands of trials.
    """
    given = json.loads(detail)
    if not isinstance(given, dict):
        raise ValueError(f"settings are a JSON object, not {detail[:40]!r}")
    found = {**DEFAULTS, **given, **{key: int(given[key]) for key in DEFAULTS if key in given}}
    line(found)
    return found


def line(settings: Settings) -> Line:
    """The version line of a node with these settings; ValueError for a version that does not begin with a number."""
    return _line(str(settings.get("rocketmqVersion", VERSION)))


def version(settings: Settings) -> tuple[int, ...]:
    """The numbers of a node's version, for comparisons; ValueError as for :func:`line`."""
    return _numbers(str(settings.get("rocketmqVersion", VERSION)))


def is_on(settings: Settings, key: str, default: bool = False) -> bool:
    """Whether a setting is on: 1 or true, as a number, a truth value or text."""
    return str(settings.get(key, default)).lower() in ("1", "true")


POOL = "transientStorePoolEnable"
COMMIT_INTERVAL, COMMIT_THOROUGH = "commitIntervalCommitLog", "commitCommitLogThoroughInterval"


def has_pool(settings: Settings) -> bool:
    """Whether the last stored bytes are only in the broker's process, and a kill takes them (4.x:
    MessageStoreConfig.isTransientStorePoolEnable; 5.x: DefaultMessageStore's, also with SYNC_FLUSH).
    """
    if not is_on(settings, POOL) or settings.get("brokerRole") == "SLAVE":
        return False
    return settings.get("flushDiskType") != "SYNC_FLUSH" or version(settings) >= (5,)


def flush_mode(settings: Settings) -> str:
    """The flush type, and whether there is a pool before it, in words."""
    return f"{settings.get('flushDiskType', 'ASYNC_FLUSH')}{', pool' if has_pool(settings) else ''}"


PERIODS_MS = (10_000, 60_000)
"""RocketMQ clamps registerNameServerPeriod to these."""


def registration_ms(settings: Settings) -> int:
    """How often a broker registers with its name servers."""
    least, most = PERIODS_MS
    return max(least, min(int(settings.get("registerNameServerPeriod", 30_000)), most))


def flushes_tables(settings: Settings) -> bool:
    """Whether a node promises to flush its tables after each save, as the reference does and RocketMQ does not."""
    return settings.get("tableSaves") == "flushed"


def refuses_reads(settings: Settings) -> bool:
    """Whether a slave with these settings answers pulls as busy: a 5.x slave with slaveReadEnable off."""
    return version(settings) >= (5,) and not is_on(settings, "slaveReadEnable")


def creates_groups(settings: Settings) -> bool:
    """Whether a node creates an unknown consumer group: autoCreateSubscriptionGroup, on by default."""
    return is_on(settings, "autoCreateSubscriptionGroup", default=True)


def creates_topics(settings: Settings) -> bool:
    """Whether a node creates an unknown topic on a send: autoCreateTopicEnable, on by default."""
    return is_on(settings, "autoCreateTopicEnable", default=True)


def template(settings: Settings) -> tuple[bool, int]:
    """Whether a node's own topic TBW102 exists, and its number of queues."""
    return creates_topics(settings), int(settings.get("defaultTopicQueueNums", 8))


def keeps_index(settings: Settings) -> bool:
    """Whether a broker indexes messages by their keys: messageIndexEnable, on by default."""
    return is_on(settings, "messageIndexEnable", default=True)


def keeps_connections(master: Settings, slave: Settings) -> bool:
    """Whether an HA connection outlives the wait for its first report, and the silence between two heartbeats, without
    which such a pair cannot replicate.
    """
    longest = max(int(each.get(HEARTBEAT, DEFAULTS[HEARTBEAT])) for each in (master, slave))
    return longest < min(int(each.get(HOUSEKEEPING, DEFAULTS[HOUSEKEEPING])) for each in (master, slave))


def can_replicate(master: Settings, slave: Settings) -> bool:
    """Whether such a pair replicates without faults: its connections last, and its files have one size."""
    size = "mappedFileSizeCommitLog"
    alike = int(master.get(size, DEFAULTS[size])) == int(slave.get(size, DEFAULTS[size]))
    return alike and keeps_connections(master, slave)


def registered_address(settings: Settings) -> str | None:
    """The HA address that such a broker registers, relative to its own as ``register`` has it: brokerIP2 with
    haListenPort, which counts since 5.1.1. None if the address is not the lab's choice.
    """
    if not settings.keys() >= {"brokerIP1", "brokerIP2", "listenPort"}:
        return None
    second = settings["brokerIP2"]
    port = int(settings.get("haListenPort", 0)) if version(settings) >= (5, 1, 1) else 0
    distance = port - int(settings["listenPort"]) if port else 1
    return f"{'' if second == settings['brokerIP1'] else second}:{distance:+d}"


def memory(settings: Settings) -> int | None:
    """The distance in bytes from the end of its log within which a node counts messages as being in memory; None if
    unknown.
    """
    ratio, total = int(settings.get("accessMessageInMemoryMaxRatio", RATIO)), settings.get("totalMemory")
    if not ratio:
        return 0
    return None if total is None else int(int(total) * (ratio / 100.0))


@lru_cache(maxsize=64)
def _line(version: str) -> Line:
    numbers = _numbers(version)
    return next(each for each in LINES if each.since <= numbers)


@lru_cache(maxsize=64)
def _numbers(version: str) -> tuple[int, ...]:
    if not re.match(r"\d", version):
        raise ValueError(f"rocketmqVersion is a version such as {VERSION}, not {version[:40]!r}")
    return tuple(int(each) for each in re.findall(r"\d+", version))


def promised_slaves(settings: Settings) -> int:
    """How many slaves hold a waiting send before a master with these settings answers PUT_OK."""
    if settings.get("brokerRole") != "SYNC_MASTER":
        return 0
    known = line(settings)
    asked = int(settings.get("inSyncReplicas", 0)) if known.counts_replicas else 0
    return (asked or known.replicas) - 1
