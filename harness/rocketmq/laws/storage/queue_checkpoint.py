"""``queue-checkpoint``: a store's checkpoint says that its queues are durable soon after they are, and never too much.

A start after a crash dispatches again what was stored after the checkpoint's time: one that is old makes it long, one
that is too new leaves out messages. With flushConsumeQueueLeastPages=0 each look of flushIntervalConsumeQueue notes
how far it came, otherwise one each flushConsumeQueueThoroughInterval. A look flushes one file of each queue, so there
may have to be one more for each file, and two thorough ones; a stop notes all, and what was noted stays. 5.5.0 notes in
thorough looks only, and in no stop. The time must not be later than that of the newest record.

Left out: what waited, or was noted by a stop, while a fault touched the node; nodes that a machine's crash, a cut or
another store may have left a checkpoint of another log, and diverged slaves (see ``logs``); half messages,
which no queue has. Seen by audits, of nodes that tell what they have dispatched.
Source: FlushConsumeQueueService, StoreCheckpoint; DefaultMessageStore.shutdown; ConsumeQueue of 5.5.0.
"""

from __future__ import annotations

from ....event_types.node import Stop, Wipe
from ....history import MS
from ....judging.law import CONVENTION
from ....texts.content import payload
from ...contract import LIED
from ...event_types.log import Checkpoint, Cut, Record
from ...known.circumstances import DIVERGED
from ...known.deadlines import POLL_NS, is_late
from ...known.dispatched import Step
from ...known.nodes import MACHINE
from ...law import Law
from ..delivery.pull_is_filled import ENTRY

NO_QUEUE = ("prepared", "rollback")
SELDOM_SINCE = (5, 5)
"""The first version that notes in thorough looks only: until then each put does, and each flush of the file tells."""
STOPS = ("restart", "upgrade")
"""Faults that stop a node in an orderly way."""


class QueueCheckpoint(Law):
    id = "queue-checkpoint"
    kind = CONVENTION
    promise = (
        "The checkpoint says within flushIntervalConsumeQueue and flushConsumeQueueThoroughInterval, and after a clean "
        "stop, that queues are durable, and never more than the log has."
    )
    source = "FlushConsumeQueueService; StoreCheckpoint; DefaultMessageStore.shutdown"
    needs = frozenset({"config", "dispatch", "record", "checkpoint"})
    timed = True

    def begin(self) -> None:
        self.stopped: dict[str, Step] = {}
        """What its last clean stop must have noted."""
        self.foreign: set[str] = set()
        """Nodes whose checkpoint may be of another log than they have."""

    def on_stop(self, event: Stop) -> None:
        found = self.known.dispatched.present(event.node)
        if found and self._stops_alone(event.node) and not self._notes_seldom(event.node):
            self.stopped[event.node] = Step(found[-1].upto, event.t)

    def _notes_seldom(self, node: str) -> bool:
        return self.known.is_a_black_box(node) and not self.known.is_older(node, SELDOM_SINCE)

    def _stops_alone(self, node: str) -> bool:
        """Whether nothing has hold of the node but what stops it."""
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
        if not known.stores.suffered(node).isdisjoint({MACHINE, LIED}):
            return
        self.judged += 1
        newest = max(each.store_ms for each in records)
        if event.queues_ms > newest:
            what = f"queues are durable up to {event.queues_ms} ms, and its newest message is of {newest} ms"
            self.violate(event, f"the checkpoint of {node} says that {what}", since=None)
        due = self._due(event, len(records))
        queued = [place for place, each in enumerate(records) if due is not None and _is_queued(each, due.upto)]
        if due is None or not queued:
            return
        # Clocks that were put back make later messages older.
        least = min(each.store_ms for each in records[queued[-1] :])
        if event.queues_ms < least:
            what = f"queues are durable up to {event.queues_ms} ms, where one of {least} ms should be, too"
            self.violate(event, f"the checkpoint of {node} says that {what}", since=due.since)

    def _due(self, event: Checkpoint, records: int) -> Step | None:
        """The last that the checkpoint must know of, in a log of so many records."""
        node, known = event.node, self.known
        found = known.dispatched.present(node)
        bound = self._bound_ns(node, records)
        late = [each for each in found if is_late(known, node, each.since, event.t, bound)]
        if late and known.disturbances.is_unaffected(node, late[-1].since):
            return late[-1]
        return self.stopped.get(node)

    def _bound_ns(self, node: str, records: int) -> int:
        interval, thorough, pages, size = (
            self.known.setting(node, key)
            for key in (
                "flushIntervalConsumeQueue", "flushConsumeQueueThoroughInterval", "flushConsumeQueueLeastPages",
                "mappedFileSizeConsumeQueue",
            )
        )  # fmt: skip
        files = 1 + records * ENTRY // max(1, size)
        ms = (2 + files) * interval + (2 * thorough if pages or self._notes_seldom(node) else 0)
        return ms * MS + POLL_NS + self.known.healthy_ns


def _is_queued(record: Record, upto: int) -> bool:
    return record.hi <= upto and payload(record.detail).get("type") not in NO_QUEUE
