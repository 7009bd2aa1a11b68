"""Advice for a pair of broker files: the known deviations that they allow, missing keys, and the changes to make first.

Each change names its benefit and its cost; :data:`MAX_ADVICE` are given, the most valuable first: a pair that does not
replicate, then the largest losses. Costs of SYNC_MASTER are decision 43's; those of SYNC_FLUSH are not measured. Left
out: sizes of heaps and thread pools, and everything that does not affect losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from ..judging import deviations
from ..judging.deviations import DIFFERS, Deviation
from .outlook import AHEAD, FAILED_FLUSH, SLAVE, Pair
from .settings import DEFAULTS, HEARTBEAT, HOUSEKEEPING, POOL, is_on, keeps_connections, line, refuses_reads
from .topology import MASTER

MAX_ADVICE = 5
FILE_SIZE = "mappedFileSizeCommitLog"
SHARED = ("brokerName", "brokerClusterName")
"""Keys that make two brokers a pair."""
FIXED_IN = "5.5.0"
"""The release with PR 9714: a failed flush is never answered PUT_OK."""
COST_OF_A_COPY = (
    "20 to 60 % of the throughput with one send in flight, 13 to 42 % with 16 (decision 43); without a slave "
)


class Advice(NamedTuple):
    change: str
    avoids: str
    costs: str
    sets: Mapping[str, str] = {}
    """The change as data: by side and key, such as ``master.flushDiskType``; empty for an upgrade."""

    def __str__(self) -> str:
        return f"{self.change}: avoids {self.avoids}; costs {self.costs}"


def unavoided(pair: Pair, releases: Mapping[str, str]) -> list[Deviation]:
    """Known deviations of these releases (by role) that these settings do not rule out."""
    return [each for each in deviations.running("rocketmq", releases) if applies(each, pair)]


def applies(known: Deviation, pair: Pair) -> bool:
    """Whether these settings do not rule it out."""
    own = pair.slave if known.node == SLAVE else pair.master
    return all(
        _differs(pair, key) if wanted == DIFFERS else str(own.get(key, "")).lower() == wanted.lower()
        for key, wanted in known.only_with.items()
    )


def _differs(pair: Pair, key: str) -> bool:
    return len({int(each.get(key, DEFAULTS[key])) for each in pair}) > 1


def missing(pair: Pair) -> Iterator[str]:
    """Keys that affect losses or make this a pair, and that a file lacks or that differ between the files."""
    for key, default in (("brokerRole", "ASYNC_MASTER"), ("flushDiskType", "ASYNC_FLUSH")):
        if key not in pair.master:
            yield f"the master's file has no {key}: RocketMQ uses {default}"
    if not pair.slave.get("haMasterAddress") and not pair.slave.get("namesrvAddr"):
        yield (
            "the slave's file has neither namesrvAddr nor haMasterAddress: unless NAMESRV_ADDR or -n does, it starts "
            "and never replicates"
        )
    for key in SHARED:
        names = [each.get(key) for each in pair]
        if None not in names and names[0] != names[1]:
            yield f"{key} differs ({names[0]}, {names[1]}), so the name server does not pair them"


def recommended(pair: Pair, known: list[Deviation]) -> list[Advice]:
    """The changes, the most valuable first."""
    return list(islice(_changes(pair, {each.id for each in known}), MAX_ADVICE))


def _changes(pair: Pair, known: set[str]) -> Iterator[Advice]:
    yield from _a_pair(pair)
    if pair.has_pool:
        yield Advice(
            f"master: set {POOL}=false (now true)",
            "that a kill of the master's process loses messages that were answered PUT_OK",
            "higher peaks of latency, as writes go through the page cache", {f"master.{POOL}": "false"},
        )  # fmt: skip
    if not pair.copies:
        yield _copied(pair)
    if not pair.is_durable:
        ahead = next((each for each in AHEAD if each in known), "")
        yield Advice(
            "master: set flushDiskType=SYNC_FLUSH (now ASYNC_FLUSH)",
            f"that a power loss of the master{' and its slaves at once' if pair.copies else ''} loses {pair.unflushed}"
            f"{f', and mostly that a slave is ahead of the master after it ({ahead})' if ahead else ''}",
            "a wait for the disk in each send (not measured here)", {"master.flushDiskType": "SYNC_FLUSH"},
        )  # fmt: skip
    if FAILED_FLUSH in known:
        yield Advice(
            f"upgrade RocketMQ {pair.master['rocketmqVersion']} to {FIXED_IN}",
            "PUT_OK for messages that a reboot loses after the disk turned read-only",
            "an upgrade; SYNC_MASTER then waits for slaves with inSyncReplicas=2 only, and slaves serve reads with "
            "slaveReadEnable=true only",
        )  # fmt: skip
    if refuses_reads(pair.slave):
        stuck = ", and for ever if it sends them to its slave" if is_on(pair.master, "slaveReadEnable") else ""
        yield Advice(
            "slave: set slaveReadEnable=true (now false)", f"that consumers stop while the master is away{stuck}",
            "that consumers can read from a slave that lags", {"slave.slaveReadEnable": "true"},
        )  # fmt: skip


def _a_pair(pair: Pair) -> Iterator[Advice]:
    wanted = {"brokerRole": "SLAVE", "brokerId": "1"}
    if lacks := {f"slave.{key}": value for key, value in wanted.items() if key not in pair.slave}:
        yield Advice(
            f"slave: add {', '.join(f'{key[6:]}={value}' for key, value in lacks.items())}",
            "that RocketMQ starts no slave from this file, so that each message has one copy", "nothing", lacks,
        )  # fmt: skip
    if not keeps_connections(*pair):
        shortest = min(int(each.get(HOUSEKEEPING, DEFAULTS[HOUSEKEEPING])) for each in pair)
        often = str(max(1, shortest // 4))
        yield Advice(
            f"both: set {HEARTBEAT}={often}",
            f"that each side drops the other after {HOUSEKEEPING}, so that nothing is copied", "a few bytes a second",
            {f"{side}.{HEARTBEAT}": often for side in (MASTER, SLAVE)},
        )  # fmt: skip
    if _differs(pair, FILE_SIZE):
        size = str(pair.master.get(FILE_SIZE, DEFAULTS[FILE_SIZE]))
        yield Advice(
            f"slave: set {FILE_SIZE}={size}, as its master has, on an empty store",
            "that the slave acknowledges bytes that it cannot read back (file-size-unnoticed)", "copying the log again",
            {f"slave.{FILE_SIZE}": size},
        )  # fmt: skip


def _copied(pair: Pair) -> Advice:
    loss = "the loss of messages that the slave lacks when the master's disk is lost or the slave is promoted"
    sets = {} if pair.role == "SYNC_MASTER" else {"master.brokerRole": "SYNC_MASTER"}
    role = "" if pair.role == "SYNC_MASTER" else "brokerRole=SYNC_MASTER (now ASYNC_MASTER)"
    if not line(pair.master).counts_replicas:
        stored = "sends end as SLAVE_NOT_AVAILABLE: stored on the master"
        return Advice(f"master: set {role}", loss, f"{COST_OF_A_COPY}{stored}", sets)
    stored = f"each send takes slaveTimeout ({pair.number('slaveTimeout') / 1000:g} s)"
    replicas = f"inSyncReplicas=2 (now {pair.master.get('inSyncReplicas', 1)})"
    change = f"master: set {' and '.join(filter(None, (role, replicas)))}; SYNC_MASTER waits for no slave while it is 1"
    return Advice(change, loss, f"{COST_OF_A_COPY}{stored}", {**sets, "master.inSyncReplicas": "2"})
