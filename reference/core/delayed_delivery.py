"""A master delivers delayed messages: what waits in SCHEDULE_TOPIC_XXXX is put again, as what it was meant to be.

One queue per level; its entries' tags codes are the delivery times (ms). A message goes to its real topic and queue,
and is otherwise as it waited, DELAY included. A level's position moves on only after the put. Positions are saved every
10 s while they change, and at a clean stop, but not before the log is durable up to what they say: whatever crash
comes, a message may be delivered twice, but is never lost. Timers run only for levels where something waits, and a turn
of the event loop delivers at most :data:`BATCH` messages.

As in RocketMQ a delivery time that is further away than its level's delay means now: the clock has been set back. What
cannot be delivered (an expired record, no real topic, one of the system's) is passed over. Where it differs on purpose:
positions are saved there whether or not the log is durable; and a full disk is tried again after a second. A level that
messageDelayLevel no longer has is left alone.
Source: ScheduleMessageService.
"""

import re
from collections.abc import Hashable

from ..errors import CodecError, StoreFull
from ..ports import MS
from ..wire import beans, bodies
from ..wire.properties import properties_of
from ..wire.record import Message
from .consume_queue import Entry
from .delay import SCHEDULE_TOPIC, queue_of_level
from .parts import Parts
from .topics import NAME, NO_SENDS

BATCH = 32
RETRY_NS = 1_000 * MS
SAVE_NS = 10_000 * MS
SAVE = ("delay", "save")
_QUEUE = re.compile(r"[0-9]{1,9}")


class DelayedDelivery:
    """One master's delivery. ``next``: by level the queue offset of the first message that has not been delivered."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.next: dict[int, int] = {}
        self._armed: set[Hashable] = set()
        # Where the log ended after the last delivery.
        self._end = 0
        # A table that is to be saved when the log is durable up to there.
        self._unsaved: tuple[bytes, int] | None = None

    # Decisions.

    def wait_ms(self, level: int, entry: Entry) -> int:
        """How long this message still has to wait; 0 or less: its time has come."""
        wait = entry.tags_code - self.parts.io.wall_ms()
        return wait if wait <= self.parts.store.delays_ms[level - 1] else 0

    def real_message(self, entry: Entry) -> Message | None:
        """The message as it was meant to be; None if there is none to deliver."""
        record = self.parts.store.record_at(entry.physical_offset)
        if record is None:
            return None
        properties = properties_of(record.message.properties)
        topic, queue = properties.get("REAL_TOPIC", ""), properties.get("REAL_QID", "")
        if not NAME.fullmatch(topic) or topic in NO_SENDS or not _QUEUE.fullmatch(queue):
            return None
        return record.message._replace(topic=topic, queue_id=int(queue))

    # Life.

    def start(self) -> None:
        saved, queues = self.parts.delay_offsets, self.parts.store.queues
        saved.load()
        for level in range(1, len(self.parts.store.delays_ms) + 1):
            queue = SCHEDULE_TOPIC, queue_of_level(level)
            at = min(max(saved.table.get(level, 0), queues.min_offset(*queue)), queues.next_offset(*queue))
            if level in saved.table:
                saved.put(level, at)
            self.next[level] = at
            if queue in queues:
                self._arm(level)
        # At once: a predecessor's table may be past what the log holds here, and would be believed after a crash, when
        # the log has grown beyond it.
        saved.save()
        if saved.changed:
            self._arm_save(SAVE_NS)

    def stop(self) -> None:
        """Make the log durable up to what the table says; who stops the broker saves the table."""
        log = self.parts.store.log
        if self.parts.delay_offsets.changed:
            for name in log.flush_due():
                self.parts.io.disk.sync(name)
            log.mark_flushed(log.end)

    def arrived(self, topic: str, queue_id: int) -> None:
        level = queue_id + 1
        if topic == SCHEDULE_TOPIC and level in self.next and level not in self._armed:
            self._arm(level)

    def on_timer(self, key: Hashable) -> None:
        assert isinstance(key, tuple)
        self._armed.discard(key[1])
        if key == SAVE:
            self._save()
        else:
            self._deliver(key[1])

    # How it is done.

    def _deliver(self, level: int) -> None:
        store, puts = self.parts.store, self.parts.puts
        queue = SCHEDULE_TOPIC, queue_of_level(level)
        at = max(self.next[level], store.queues.min_offset(*queue))
        end, rest = 0, 0
        for entry in store.queues.get(*queue, at, BATCH):
            if self.wait_ms(level, entry) > 0:
                break
            try:
                message = self.real_message(entry)
                end = puts.put(message).hi if message is not None else end
            except CodecError:
                # It will never fit: waiting for it would hold up all that follow.
                pass
            except StoreFull:
                rest = RETRY_NS
                break
            at += 1
        if at > self.next[level]:
            self.next[level] = at
            self._end = store.log.end
            self.parts.delay_offsets.put(level, at)
            self._arm_save(SAVE_NS)
        if end:
            puts.settle(end, False, lambda status: None)
        self._arm(level, rest)

    def _arm(self, level: int, rest_ns: int = 0) -> None:
        """Ring when the level's next message is due, after a rest at the earliest; never if none waits."""
        queues = self.parts.store.queues
        queue = SCHEDULE_TOPIC, queue_of_level(level)
        for entry in queues.get(*queue, max(self.next[level], queues.min_offset(*queue)), 1):
            self._armed.add(level)
            wait_ns = max(0, self.wait_ms(level, entry)) * MS
            self.parts.io.timer(("delay", level), self.parts.io.now() + max(wait_ns, rest_ns))

    def _arm_save(self, rest_ns: int) -> None:
        if SAVE[1] not in self._armed:
            self._armed.add(SAVE[1])
            self.parts.io.timer(SAVE, self.parts.io.now() + rest_ns)

    def _save(self) -> None:
        """Save the positions, as they are now or were when the log was not yet durable enough for them."""
        offsets = self.parts.delay_offsets
        now = beans.encode(bodies.DelayOffsets(offsets.table), pretty=True)
        text, end = self._unsaved or (now, self._end)
        if self.parts.store.log.flushed < end or not offsets.file.save(text):
            self._unsaved = text, end
            self._arm_save(RETRY_NS)
            return
        self._unsaved = None
        offsets.changed = text != now
        if offsets.changed:
            self._arm_save(SAVE_NS)
