"""``queue-checkpoint``: the checkpoint records durable queues within flushIntervalConsumeQueue and
flushConsumeQueueThoroughInterval, and after a clean stop, and never more than the log has.

A start after a crash dispatches messages stored after the checkpoint's time again: an old time makes the start long,
one that is too new loses messages.

Checks:
- The time is not later than the newest record's; neither are the times for the log and the key index.
- It advances within the flush rounds: with flushConsumeQueueLeastPages=0 each round of flushIntervalConsumeQueue
  records its progress, else one each flushConsumeQueueThoroughInterval. A round flushes one file of each queue, so
  there may be one more per file, and two thorough ones.
- A stop records everything, and it never goes back. 5.5.0 records in thorough rounds only, and not in a stop.
Abstains when:
- A fault affected the node, while queues waited or during the stop, or a crash followed the stop.
- The checkpoint may belong to another log (a machine crash, a truncation or another store), or the slave diverged.
- The record is a half message, which no queue has, or the node does not trace its dispatch.
Source: FlushConsumeQueueService, StoreCheckpoint; DefaultMessageStore.shutdown; ConsumeQueue of 5.5.0.
"""

from __future__ import annotations

from ....event_types.node import Stop, Wipe
from ....history import MS
from ....judging.law import CONVENTION
from ....texts.content import payload
from ...contract import LIED, POOL
from ...event_types.log import Checkpoint, Cut, Record
from ...known.circumstances import DIVERGED
from ...known.deadlines import POLL_NS, is_late
from ...known.dispatched import Step
from ...known.nodes import MACHINE, PROCESS
from ...law import Law
from ..delivery.pull_is_filled import ENTRY

NO_QUEUE = ("prepared", "rollback")
THOROUGH_ONLY_SINCE = (5, 5)
STOPS = ("restart", "upgrade")
"""Faults that are orderly stops."""


class QueueCheckpoint(Law):
    kind = CONVENTION
    needs = frozenset({"config", "dispatch", "record", "checkpoint"})
    timed = True

    def begin(self) -> None:
        self.stopped: dict[str, tuple[Step, int]] = {}
        """By node: the progress that its last clean stop must have recorded, and how many events of stores preceded."""
        self.foreign: set[str] = set()
        """Nodes whose checkpoint may belong to another log."""

    def on_stop(self, event: Stop) -> None:
        found = self.known.dispatched.present(event.node)
        if found and self._is_only_stopped(event.node) and not self._is_thorough_only(event.node):
            self.stopped[event.node] = Step(found[-1].upto, event.t), len(self.known.stores.happened)

    def _is_thorough_only(self, node: str) -> bool:
        return self.known.is_a_black_box(node) and not self.known.is_older(node, THOROUGH_ONLY_SINCE)

    def _is_only_stopped(self, node: str) -> bool:
        disturbances = self.known.disturbances
        return all(each.f in STOPS for each in disturbances.active.values() if node in disturbances.affected(each))

    def on_cut(self, event: Cut | Wipe) -> None:
        self.foreign.add(event.node)

    on_wipe = on_cut

    def on_checkpoint(self, event: Checkpoint) -> None:
        node, known = event.node, self.known
        records = known.audits.records(event)
        if not records or node in self.foreign or self.abstains(event, DIVERGED):
            return
        if not known.stores.suffered(node).isdisjoint({MACHINE, LIED, POOL}):
            return
        self.judged += 1
        newest = max(each.store_ms for each in records)
        for name, ms in (("queues are", event.queues_ms), ("log is", event.log_ms), ("index is", event.index_ms)):
            if ms is not None and ms > newest:
                what = f"{name} durable up to {ms} ms, but its newest message is of {newest} ms"
                self.violate(event, f"the checkpoint of {node} records that {what}", since=None)
        due = self._due(event, len(records))
        queued = [number for number, each in enumerate(records) if due is not None and _is_queued(each, due.upto)]
        if due is None or not queued:
            return
        # Clocks that were set back make later messages older.
        least = min(each.store_ms for each in records[queued[-1] :])
        if event.queues_ms < least:
            what = f"queues are durable up to {event.queues_ms} ms, although a message of {least} ms is, too"
            self.violate(event, f"the checkpoint of {node} records that {what}", since=due.since)

    def _due(self, event: Checkpoint, records: int) -> Step | None:
        """The progress that the checkpoint must have recorded, in a log of so many records."""
        node, known = event.node, self.known
        found = known.dispatched.present(node)
        bound = self._bound_ns(node, records)
        late = [each for each in found if is_late(known, node, each.since, event.t, bound)]
        if late and known.disturbances.is_unaffected(node, late[-1].since):
            return late[-1]
        stop, happened = self.stopped.get(node, (None, 0))
        # A fault at a point of the stop itself ends the process before it has recorded everything.
        return None if PROCESS in known.stores.of(node, happened) else stop

    def _bound_ns(self, node: str, records: int) -> int:
        interval, thorough, pages, size = (
            self.known.setting(node, key)
            for key in (
                "flushIntervalConsumeQueue", "flushConsumeQueueThoroughInterval", "flushConsumeQueueLeastPages",
                "mappedFileSizeConsumeQueue",
            )
        )  # fmt: skip
        files = 1 + records * ENTRY // max(1, size)
        ms = (2 + files) * interval + (2 * thorough if pages or self._is_thorough_only(node) else 0)
        # A round takes a flush for each queue, and an entry may come just after its queue's.
        return ms * MS + 2 * (records + 1) * self.known.flush_ns + POLL_NS + self.known.healthy_ns


def _is_queued(record: Record, upto: int) -> bool:
    return record.hi <= upto and payload(record.detail).get("type") not in NO_QUEUE
