"""Delivery progress of each delay level: ``delayOffset.json``.

A master saves its table periodically (10 s in RocketMQ). A slave saves the master's text unchanged, and loads it only
when it becomes a master. Left out: limiting offsets to the queue's range, and delivery. Source: ScheduleMessageService,
DelayOffsetSerializeWrapper, SlaveSynchronize.syncDelayOffset.
"""

from functools import partial

from ..ports import WholeFiles
from ..wire import beans, bodies
from .config_file import ConfigFile


class DelayOffsets:
    """The next queue offset to deliver, by delay level."""

    def __init__(self, disk: WholeFiles) -> None:
        self.file = ConfigFile(disk, "delayOffset.json")
        self.table: dict[int, int] = {}
        self.changed = False

    def load(self) -> None:
        saved = self.file.load(partial(beans.decode, bodies.DelayOffsets))
        self.table = saved.offset_table if saved else {}

    def put(self, level: int, offset: int) -> None:
        self.changed = self.changed or self.table.get(level) != offset
        self.table[level] = offset

    def encode(self) -> bytes:
        return beans.encode(bodies.DelayOffsets(self.table))

    def save(self) -> None:
        if self.changed:
            self.changed = not self.file.save(beans.encode(bodies.DelayOffsets(self.table), pretty=True))

    def save_text(self, body: bytes) -> None:
        """On a slave: save the master's answer to 45. CodecError, with nothing saved, for a malformed table."""
        beans.decode(bodies.DelayOffsets, body)
        self.file.save(body)
