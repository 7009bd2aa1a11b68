"""Mutants of a log's contents: bytes that return, bytes that never arrived, times that go back."""

from struct import Struct

from ...reference.core.checkpoint import store_ms_at
from ...reference.core.commit_log import CommitLog, Put
from ...reference.core.ha_slave import HaSlave
from ...reference.core.retention import Retention
from ...reference.ports import Conn, Disk
from ...reference.wire.record import Message
from .mutant import seeded

CACHE_MS = 1_000
JOURNAL = 4_096
PLACE = Struct(">qi")


@seeded("master", "log-no-resurrection", "restores a record that recovery has truncated, before the next one")
class ReplaysJournal(CommitLog):
    def put(self, message: Message, queue_offset: int, store_ms: int) -> Put:
        journal = self.files.disk.open("journal", JOURNAL)
        at, size = PLACE.unpack(journal.read(0, PLACE.size))
        if size and at == self.end:
            self.append(at, journal.read(PLACE.size, size))
        put = super().put(message, queue_offset, store_ms)
        if len(put.data) <= JOURNAL - PLACE.size:
            journal.write(0, PLACE.pack(put.lo, len(put.data)) + put.data)
            self.files.disk.sync("journal")
        return put


@seeded("slave", "loss-is-suffix", "keeps zeros in place of the first frame after a reconnect")
class LosesFirstFrame(HaSlave):
    reconnected: bool = False

    def on_connected(self, conn: Conn) -> None:
        self.reconnected = self.log.end > 0
        super().on_connected(conn)

    def append(self, offset: int, body: bytes) -> bool:
        if not (self.reconnected and body and self.accepts(offset)):
            return super().append(offset, body)
        self.reconnected = False
        if not self.log.append(offset, bytes(len(body))):
            return False
        self.watcher.appended(offset, offset + len(body), body, "replicate")
        return True


@seeded("master", "store-time-ordered", "stores messages with each queue's own clock, read from time to time")
class ClockForEachQueue(CommitLog):
    def __init__(self, disk: Disk, file_size: int, folder: str = "commitlog", max_message_size: int = 1 << 22) -> None:
        super().__init__(disk, file_size, folder, max_message_size)
        self.read_ms: dict[int, int] = {}

    def put(self, message: Message, queue_offset: int, store_ms: int) -> Put:
        known = self.read_ms.get(message.queue_id, 0)
        if not known <= store_ms < known + CACHE_MS:
            known = self.read_ms[message.queue_id] = store_ms
        return super().put(message, queue_offset, known)


@seeded("master", "log-retention", "considers a file as old as the first message in it")
class AgesByFirst(Retention):
    def due_ms(self, index: int) -> int | None:
        starts = self.store.log.files.starts
        first = store_ms_at(self.store.log, starts[index]) if index + 1 < len(starts) else -1
        return first + self.keep_ms if first >= 0 else None


@seeded("master", "log-retention", "deletes old files right after its start")
class LooksAtOnce(Retention):
    def start(self) -> None:
        self._earliest = self.io.now()
        self._arm()


@seeded("master", "ack-within-limits", "stores bodies of any size, ignoring maxMessageSize")
class StoresAnySize(CommitLog):
    def __init__(self, disk: Disk, file_size: int, folder: str = "commitlog", max_message_size: int = 1 << 22) -> None:
        super().__init__(disk, file_size, folder, max(max_message_size, 1 << 22))
