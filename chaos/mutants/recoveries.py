"""Mutants of recovery: the kept and truncated parts of a store, and the report of them."""

from ...reference.core.commit_log import CommitLog
from ...reference.core.files import MappedFiles
from ...reference.core.key_index import KeyIndex
from ...reference.core.recovery import LogRecovery
from ...reference.core.store import MessageStore
from ...reference.errors import StoreRefused
from ...reference.ports import Disk
from .mutant import seeded


@seeded("master", "log-cut-reported", "reports one lost whole record less than its truncation lost")
class CountsTooFewLost(LogRecovery):
    def count_records(self, end: int, used: int) -> int:
        return max(0, super().count_records(end, used) - 1)


@seeded("master", "log-recovered", "leaves truncated bytes in the last file")
class LeavesWhatItCut(LogRecovery):
    def cut(self, end: int) -> int:
        files = self.files
        if end <= files.limit - files.file_size:
            return super().cut(end)
        files.end = end
        return files.used_until(end)


@seeded("master", "log-recovered", "starts on a damaged log after an orderly stop, with any loss")
class StartsOnABrokenLog(LogRecovery):
    def check_whole(self, end: int, used: int, why: str) -> None:
        pass


@seeded("slave", "log-recovered", "truncates its log, and then refuses it")
class CutsWhatItRefuses(LogRecovery):
    def check_whole(self, end: int, used: int, why: str) -> None:
        try:
            super().check_whole(end, used, why)
        except StoreRefused:
            self.files.truncate(end)
            raise


class UnsyncedFiles(MappedFiles):
    def sync(self, lo: int, hi: int) -> None:
        pass


@seeded("slave", "log-recovered", "assumes that its log is durable at a start, and does not flush it")
class BelievesWhatItFound(CommitLog):
    def __init__(self, disk: Disk, file_size: int, folder: str = "commitlog", max_message_size: int = 1 << 22) -> None:
        super().__init__(disk, file_size, folder, max_message_size)
        self.files = UnsyncedFiles(disk, folder, file_size)


@seeded("slave", "log-recovered", "rebuilds its key index at each start")
class IndexesAnew(KeyIndex):
    def recover(self, clean: bool, flushed_ms: int, log_end: int) -> bool:
        return super().recover(False, flushed_ms, log_end)


@seeded("master", "log-recovered", "recovers after an orderly stop as after a crash")
class ForgetsItStopped(MessageStore):
    def ends_cleanly(self) -> bool:
        return False
