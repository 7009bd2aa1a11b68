"""A master delivers delayed messages: it puts each from SCHEDULE_TOPIC_XXXX again, into its real topic and queue.

One queue per level; the entries' tags codes are delivery times (ms). A delivered message keeps its other fields, DELAY
included. A level's position advances only after the put. Positions are saved every 10 s while they change, and at a
clean stop, but only once the log is durable up to them: a crash may deliver a message twice, but never loses it. Timers
run only for levels with waiting messages, and one turn of the event loop delivers at most :data:`BATCH` messages.

As in RocketMQ, a delivery time further away than its level's delay means now: the clock was set back. Messages that
cannot be delivered (an expired record, no real topic, a system topic) are skipped. Differences on purpose: RocketMQ
saves positions whether or not the log is durable; a full disk is retried after a second. Levels missing from
messageDelayLevel are ignored. Source: ScheduleMessageService.
"""

import re
from collections.abc import Hashable

from ..errors import CodecError, StoreFull
from ..ports import MS
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
    """One master's delivery. ``next``: the offset of the first undelivered message, by level."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.next: dict[int, int] = {}
        self._armed: set[Hashable] = set()
        # Log end after the last delivery.
        self._end = 0
        # A table, and the log offset that must be durable before it is saved.
        self._unsaved: tuple[bytes, int] | None = None

    def wait_ms(self, level: int, entry: Entry) -> int:
        wait = entry.tags_code - self.parts.io.wall_ms()
        return wait if wait <= self.parts.store.delays_ms[level - 1] else 0

    def real_message(self, entry: Entry) -> Message | None:
        record = self.parts.store.record_at(entry.physical_offset)
        if record is None:
            return None
        properties = properties_of(record.message.properties)
        topic, queue = properties.get("REAL_TOPIC", ""), properties.get("REAL_QID", "")
        if not NAME.fullmatch(topic) or topic in NO_SENDS or not _QUEUE.fullmatch(queue):
            return None
        return record.message._replace(topic=topic, queue_id=int(queue))

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
        # Save at once: a predecessor's table may point past this log, and would be used after a crash once the log has
        # grown.
        saved.save()
        if saved.changed:
            self._arm_save(SAVE_NS)

    def stop(self) -> None:
        """Make the log durable up to the saved positions; the broker saves the table."""
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
                # Skip a message that never fits, so that it does not block the others.
                pass
            except StoreFull:
                rest = RETRY_NS
                break
            at += 1
        if at > self.next[level]:
            self.next[level] = at
            self._end = store.log.written
            self.parts.delay_offsets.put(level, at)
            self._arm_save(SAVE_NS)
        if end:
            puts.settle(end, False, lambda status: None)
        self._arm(level, rest)

    def _arm(self, level: int, rest_ns: int = 0) -> None:
        """Set the timer for the level's next message, ``rest_ns`` away at least; none if none waits."""
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
        """Save the positions as of now, or as of when the log became durable for them."""
        offsets = self.parts.delay_offsets
        now = offsets.encode(pretty=True)
        text, end = self._unsaved or (now, self._end)
        if self.parts.store.log.flushed < end or not offsets.file.save(text):
            self._unsaved = text, end
            self._arm_save(RETRY_NS)
            return
        self._unsaved = None
        offsets.changed = text != now
        if offsets.changed:
            self._arm_save(SAVE_NS)
