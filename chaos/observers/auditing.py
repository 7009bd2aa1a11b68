"""Audits two stores together, as events: each one's records, then the common parts of their logs, queues and indexes,
and whether each one's queues and index match its own log.

The store of a master without slaves is passed twice and recorded once.

A snapshot is one node's files at one moment. Equal digests over the range that both logs hold mean equal bytes there.
"""

from collections.abc import Collection, Mapping
from struct import Struct
from typing import NamedTuple

from ...harness.history import Recorder
from ...harness.rocketmq.laws.delivery.deliver_delayed import LEVELS
from . import derivation, queue_reader, store_reader
from .stored_record import Data

LOG, CHECKPOINT = "commitlog/", "checkpoint"
TIMES = Struct(">qqq")
"""Start of a checkpoint file: the store times up to which log, queues and index are durable."""


class Snapshot(NamedTuple):
    """One node's store. ``log_end``: if known. ``slots``, ``levels``: its maxHashSlotNum and messageDelayLevel."""

    node: str
    incarnation: int
    files: Mapping[str, Data]
    log_end: int | None
    slots: int
    levels: str = LEVELS

    def log_files(self) -> list[store_reader.LogFile]:
        return sorted((int(name[len(LOG) :]), data) for name, data in self.files.items() if name.startswith(LOG))

    def read(self) -> store_reader.LogReading:
        return store_reader.read_log(self.log_files(), self.log_end)


def audit(
    recorder: Recorder, t: int, number: int, f: str, one: Snapshot, other: Snapshot, nodes: Collection[str]
) -> None:
    """Record audit ``number`` of two stores, or of one that is passed twice; records only of ``nodes``."""
    readings = {one.node: one.read()}
    # Equal bytes are read once: the usual case, and half the cost of an audit.
    same = one is other or (one.log_end == other.log_end and one.log_files() == other.log_files())
    readings[other.node] = readings[one.node] if same else other.read()
    lo = max(each.start for each in readings.values())
    hi = min(each.end for each in readings.values())
    for snapshot in (one,) if one is other else (one, other):
        store_reader.audit(
            recorder,
            t,
            number,
            # The other node is read for comparison only: it may be in the middle of a record.
            f if snapshot.node in nodes else "compare",
            snapshot.node,
            snapshot.incarnation,
            readings[snapshot.node],
            lo,
            hi,
            records=snapshot.node in nodes,
        )
        data = snapshot.files.get(CHECKPOINT, b"")
        if len(data) >= TIMES.size and snapshot.node in nodes:
            log_ms, queues_ms, index_ms = TIMES.unpack_from(data)
            recorder.add(t, "checkpoint", snapshot.node, op=number, value=queues_ms, lo=log_ms, hi=index_ms)
    first, second = readings[one.node], readings[other.node]
    keys = queue_reader.keys_of(first.records if len(first.records) >= len(second.records) else second.records)
    mine = _store(one, first)
    theirs = mine if one is other else _store(other, second)
    found = queue_reader.record(recorder, t, number, mine, theirs, keys)
    derived = derivation.derive(first.records, one.levels)
    derivation.compare(recorder, t, number, mine, *found[mine.node], derived)
    if theirs is not mine:
        if second is not first or other.levels != one.levels:
            derived = derivation.derive(second.records, other.levels)
        derivation.compare(recorder, t, number, theirs, *found[theirs.node], derived)


def _store(snapshot: Snapshot, log: store_reader.LogReading) -> queue_reader.Store:
    return queue_reader.Store(snapshot.node, snapshot.files, log.start, log.where, snapshot.slots)
