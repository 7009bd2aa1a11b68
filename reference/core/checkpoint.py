"""The checkpoint file: up to which store time the log, the queues and the index are known to be durable.

4096 bytes, of which the first three longs are used; what RocketMQ 5 keeps behind them stays as it is. Whoever flushes
sets a time when the flush has ended, never before, and saves the file then. RocketMQ sets them as it dispatches, so its
checkpoint may promise more than the disk holds. Source: StoreCheckpoint.
"""

from struct import Struct

from ..errors import CodecError, StoreFull
from ..ports import Disk
from ..wire.record import Blank, decode, peek
from .commit_log import CommitLog

NAME = "checkpoint"
SIZE = 4096
_TIMES = Struct(">qqq")


class Checkpoint:
    """Three store times, ms since the epoch; 0 for nothing yet."""

    def __init__(self, disk: Disk) -> None:
        """Read it; without a file all times are 0."""
        self._disk = disk
        self._file = disk.open(NAME, SIZE) if NAME in disk.names("") else None
        times = self._file.read(0, _TIMES.size) if self._file else bytes(_TIMES.size)
        self.physic_ms: int
        self.logics_ms: int
        self.index_ms: int
        self.physic_ms, self.logics_ms, self.index_ms = _TIMES.unpack(times)

    def save(self) -> None:
        """Write the three times, if there is room for the file; flushing :data:`NAME` is up to the caller."""
        if self._file is None:
            try:
                self._file = self._disk.open(NAME, SIZE)
            except StoreFull:
                return
        self._file.write(0, _TIMES.pack(self.physic_ms, self.logics_ms, self.index_ms))


def store_ms_at(log: CommitLog, at: int) -> int:
    """When the record that begins at ``at`` was stored; -1 if no whole record does."""
    try:
        size, _ = peek(log.read(at, 8))
        found = decode(log.read(at, size), check_crc=False)
    except CodecError:
        return -1
    return -1 if isinstance(found, Blank) else found.store_ms
