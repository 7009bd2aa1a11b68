"""Retention by time: deletes the log's oldest files whose records are all older than fileReservedTime hours.

A file's age is that of the first record in the next file (RocketMQ uses the modification time, which the disk port
lacks). So the last file is never deleted. Files are deleted only in the hours of deleteWhen (``04`` or ``04;16``;
empty: any), taken as UTC, since a sans-IO node has no time zone; at most ten at a time, then cleanResourceInterval
passes; the first ones a minute after the start. Their entries in queues and index are deleted with them.

No polling: a timer runs only if a file will be due, until that moment. The end of a flush checks for a new file. Left
out: deletion because the disk is full (diskMaxUsedSpaceRatio). Source: DefaultMessageStore.CleanCommitLogService,
MappedFileQueue.deleteExpiredFileByTime, UtilAll.isItTimeToDo.
"""

import re
from collections.abc import Callable, Hashable

from ..errors import ConfigError
from ..ports import MS, Effects
from .checkpoint import store_ms_at
from .config import BrokerConfig
from .store import MessageStore

HOUR_MS = 3_600_000
FIRST_NS = 60_000 * MS
AT_ONCE = 10
RETENTION = ("retention", None)
_HOUR = re.compile(r"[01]?[0-9]|2[0-3]")


def hours_of(text: str) -> frozenset[int]:
    """The hours of a deleteWhen; empty for any. ConfigError for a malformed one."""
    words = text.split(";") if text.strip() else []
    if not all(_HOUR.fullmatch(word.strip()) for word in words):
        raise ConfigError(f"deleteWhen must be hours from 00 to 23 with ; in between, or empty, not {text!r}")
    return frozenset(int(word) for word in words)


class Retention:
    """One broker's retention. ``expire`` receives the number of files to keep."""

    def __init__(self, store: MessageStore, config: BrokerConfig, io: Effects, expire: Callable[[int], None]) -> None:
        self.store = store
        self.io = io
        self.expire = expire
        self.keep_ms = config.fileReservedTime * HOUR_MS
        self.hours = hours_of(config.deleteWhen)
        self.rest_ns = config.cleanResourceInterval * MS
        self._earliest = 0
        self._known_limit = -1

    def due_ms(self, index: int) -> int | None:
        starts = self.store.log.files.starts
        behind = store_ms_at(self.store.log, starts[index + 1]) if index + 1 < len(starts) else -1
        return behind + self.keep_ms if behind >= 0 else None

    def is_the_hour(self, wall_ms: int) -> bool:
        return not self.hours or wall_ms // HOUR_MS % 24 in self.hours

    def start(self) -> None:
        self._earliest = self.io.now() + FIRST_NS
        self._arm()

    def grown(self) -> None:
        if self.store.log.files.limit != self._known_limit:
            self._arm()

    def on_timer(self, key: Hashable) -> None:
        wall = self.io.wall_ms()
        gone = 0
        while self.is_the_hour(wall) and gone < AT_ONCE:
            due = self.due_ms(gone)
            if due is None or due > wall:
                break
            gone += 1
        if gone:
            self.expire(len(self.store.log.files.starts) - gone)
            self._earliest = self.io.now() + self.rest_ns
        self._arm()

    def _arm(self) -> None:
        files = self.store.log.files
        due = self.due_ms(0)
        # A slave's next file may hold no whole record yet: then check again after the next flush.
        self._known_limit = files.limit if due is not None or files.limit <= files.start + files.file_size else -1
        if due is None:
            return
        wall = self.io.wall_ms()
        at = max(due, wall)
        while not self.is_the_hour(at):
            at = (at // HOUR_MS + 1) * HOUR_MS
        self.io.timer(RETENTION, max(self._earliest, self.io.now() + (at - wall) * MS))
