"""The checkpoint file: the store times up to which the log, the queues and the index are durable.

4096 bytes, of which the first three longs are used; the fields of RocketMQ 5 behind them are preserved. The caller sets
a time after its flush has ended, then saves the file. RocketMQ sets the times at dispatch, so its checkpoint may claim
more than the disk holds. Source: StoreCheckpoint.
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
    """Three store times, ms since the epoch; 0: unset."""

    def __init__(self, disk: Disk) -> None:
        """Read the file; without one all times are 0."""
        self._disk = disk
        self._file = disk.open(NAME, SIZE) if NAME in disk.names("") else None
        times = self._file.read(0, _TIMES.size) if self._file else bytes(_TIMES.size)
        self.physic_ms: int
        self.logics_ms: int
        self.index_ms: int
        self.physic_ms, self.logics_ms, self.index_ms = _TIMES.unpack(times)

    def save(self) -> None:
        """Write the times if the disk has room; the caller flushes :data:`NAME`."""
        if self._file is None:
            try:
                self._file = self._disk.open(NAME, SIZE)
            except StoreFull:
                return
        self._file.write(0, _TIMES.pack(self.physic_ms, self.logics_ms, self.index_ms))


def store_ms_at(log: CommitLog, at: int) -> int:
    """Store time of the record that begins at ``at``; -1 without a whole record."""
    try:
        size, _ = peek(log.read(at, 8))
        found = decode(log.read(at, size), check_crc=False)
    except CodecError:
        return -1
    return -1 if isinstance(found, Blank) else found.store_ms
