"""Mutants of the store: recovery, flushing and the put path."""

from collections.abc import Callable

from ...reference.core.commit_log import CommitLog, Put
from ...reference.core.flushing import Flusher
from ...reference.core.recovery import LogRecovery
from ...reference.errors import CodecError
from ...reference.wire.record import Blank, Message, decode
from .mutant import seeded


@seeded("slave", "log-prefix", "keeps a torn tail in the log after a power loss")
class TrustsTail(LogRecovery):
    def find_end(self, at: int) -> tuple[int, str]:
        whole, why = super().find_end(at)
        files = self.files
        used = max((files._last_used(start, start + files.file_size) for start in files.starts), default=whole)
        return max(whole, used), why


@seeded("slave", "log-grows", "recovery ends inside a record")
class CutsMidRecord(LogRecovery):
    def find_end(self, at: int) -> tuple[int, str]:
        whole, why = super().find_end(at)
        return (whole, why) if self.clean or whole == 0 else (whole - 3, why)


@seeded("master", "log-records-whole", "recovery keeps records whose body is damaged")
class SkipsCrc(LogRecovery):
    def step(self, at: int) -> int | str:
        room = self.files.file_size - at % self.files.file_size
        try:
            window, inside = self._load(at, room)
            found = decode(window, inside, check_crc=False)
        except CodecError as why:
            return str(why)
        if isinstance(found, Blank):
            return room if found.size == room else "no filler"
        return found.size


@seeded("slave", "log-grows", "each restart drops an undamaged record")
class ForgetsLastRecord(LogRecovery):
    def find_end(self, at: int) -> tuple[int, str]:
        end, _ = super().find_end(at)
        last = at
        while last < end:
            step = self.step(last)
            if isinstance(step, str) or last + step >= end:
                break
            last += step
        return last, "the last record may be incomplete"


@seeded("slave", "log-grows", "each restart drops its whole log and copies it again")
class ForgetsAll(LogRecovery):
    def find_end(self, at: int) -> tuple[int, str]:
        return self.files.start, "copy again"


@seeded("slave", "log-grows", "reports written bytes as durable")
class ClaimsFlush(Flusher):
    def _flush(self, upto: int | None) -> None:
        self.on_flushed(self.log.end)


@seeded("master", "log-flushed-survives", "answers PUT_OK under SYNC_FLUSH before the flush ended")
class AnswersBeforeFlush(Flusher):
    def wait(self, end: int, answer: Callable[[str], None]) -> None:
        answer("PUT_OK")


@seeded("master", "log-flushed-survives", "counts bytes written during a flush as flushed")
class FlushesHalf(Flusher):
    def on_flushed(self, upto: int) -> None:
        super().on_flushed(max(upto, self.log.end))


@seeded("slave", "log-flush-prompt", "flushes nothing before flushCommitLogLeastPages are dirty")
class FlushesPagesOnly(Flusher):
    def _look(self) -> None:
        if self.look is not None:
            self.look = self.look._replace(least_pages=self.schedule.least_pages)
        super()._look()


@seeded("master", "contract", "answers PUT_OK for a message that it did not store")
class DropsMessages(CommitLog):
    def put(self, message: Message, queue_offset: int, store_ms: int) -> Put:
        if queue_offset % 3 == 2:
            return Put(self.end, self.end, None, b"")
        return super().put(message, queue_offset, store_ms)


@seeded("master", "valid-taken", "counts properties for maxMessageSize")
class CountsProperties(CommitLog):
    def _size_within_limits(self, message: Message) -> int:
        if len(message.body) + len(message.properties) > self.max_message_size:
            raise CodecError(f"message of {len(message.body)} bytes with properties is too large")
        return super()._size_within_limits(message)
