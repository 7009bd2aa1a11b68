"""Mutants that end, spin, or do not start: visible to a process monitor, and to clients only as silence."""

from typing import Any

from ...reference.core.commit_log import CommitLog, Put
from ...reference.core.ha_master import HaMaster
from ...reference.core.ha_slave import HaSlave
from ...reference.core.store import MessageStore
from ...reference.errors import StoreRefused
from ...reference.ports import Conn
from ...reference.wire.record import Message
from .mutant import seeded

SPIN = ("spin", None)


@seeded("master", "node-lives", "raises after the first record of a new file of its log")
class TripsOverFillers(CommitLog):
    def put(self, message: Message, queue_offset: int, store_ms: int) -> Put:
        put = super().put(message, queue_offset, store_ms)
        left = {} if put.filler else {put.lo: self.file_size - put.hi % self.file_size}
        assert left[put.lo] >= 0
        return put


@seeded("slave", "node-lives", "raises at a lost connection once its log is not empty")
class TripsOverLoss(HaSlave):
    def on_lost(self) -> None:
        known = {self.conn}
        super().on_lost()
        while self.log.end:
            known.pop()


@seeded("master", "node-lives", "polls without a pause for its last slave's return")
class SpinsAlone(HaMaster):
    def on_closed(self, conn: Conn) -> None:
        super().on_closed(conn)
        self._poll()

    def on_timer(self, key: Any) -> None:
        if key == SPIN:
            self._poll()
        else:
            super().on_timer(key)

    def _poll(self) -> None:
        if not self.connections:
            self.io.timer(SPIN, self.io.now())


@seeded("slave", "node-lives", "refuses a killed process's store because of its abort file")
class RefusesAfterKill(MessageStore):
    def start(self) -> None:
        if not self.ends_cleanly():
            raise StoreRefused("the abort file is there: somebody else uses this store; end it")
        super().start()


@seeded("master", "node-lives", "does not start after a clean stop, without a file that only a crash leaves")
class ForgetsAfterStop(MessageStore):
    def start(self) -> None:
        if self.ends_cleanly() and self.io.disk.names("commitlog"):
            assert self.io.disk.read_whole("journal") is not None, "no journal"
        super().start()
