"""Delivery progress of each delay level: ``delayOffset.json``.

A master saves its table periodically (10 s in RocketMQ). A slave saves the master's text unchanged, and loads it only
when it becomes a master. Left out: limiting offsets to the queue's range, and delivery. Source: ScheduleMessageService,
DelayOffsetSerializeWrapper, SlaveSynchronize.syncDelayOffset.
"""

from ..wire import beans, bodies
from .config_file import SavedTable


class DelayOffsets(SavedTable[int, int]):
    """The next queue offset to deliver, by delay level."""

    name = "delayOffset.json"
    body = bodies.DelayOffsets

    def put(self, level: int, offset: int) -> None:
        self.changed = self.changed or self.table.get(level) != offset
        self.table[level] = offset

    def save_text(self, body: bytes) -> None:
        """On a slave: save the master's answer to 45. CodecError, with nothing saved, for a malformed table."""
        beans.decode(bodies.DelayOffsets, body)
        self.file.save(body)
