"""How far the delayed messages of each level have been delivered: ``delayOffset.json``.

A master keeps the table and saves it from time to time (10 s in RocketMQ). A slave saves the text that the master gave
it, byte by byte, and loads it only when it becomes a master. Not here: clamping to the queue's range, and delivery.
Source: ScheduleMessageService, DelayOffsetSerializeWrapper, SlaveSynchronize.syncDelayOffset.
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
        """Whether it holds what has not been saved."""

    def load(self) -> None:
        """Take over what was saved; nothing if nothing was."""
        saved = self.file.load(partial(beans.decode, bodies.DelayOffsets))
        self.table = saved.offset_table if saved else {}

    def put(self, level: int, offset: int) -> None:
        """Everything below ``offset`` of this level has been delivered."""
        self.changed = self.changed or self.table.get(level) != offset
        self.table[level] = offset

    def encode(self) -> bytes:
        """The body of GET_ALL_DELAY_OFFSET (45)."""
        return beans.encode(bodies.DelayOffsets(self.table))

    def save(self) -> None:
        if self.changed:
            self.changed = not self.file.save(beans.encode(bodies.DelayOffsets(self.table), pretty=True))

    def save_text(self, body: bytes) -> None:
        """A slave: save what the master answered to 45. CodecError, and nothing is saved, if it is no such table."""
        beans.decode(bodies.DelayOffsets, body)
        self.file.save(body)
