"""Mutants of the transient store pool: bytes that leave it too early, too late or never."""

from ...reference.core.committing import COMMIT, Committer
from ...reference.core.flushing import Flusher
from ...reference.core.ha_master import HaConnection, HaMaster
from ...reference.core.store import MessageStore
from .mutant import seeded


@seeded("master", "log-flush-prompt", "counts bytes as flushed that are still in the pool")
class FlushesPool(Flusher):
    def _flush(self, upto: int | None) -> None:
        super()._flush(upto if upto is None else self.log.written)


@seeded("master", "log-slave-behind", "pushes bytes that are still in the pool")
class PushesPool(HaMaster):
    def push_limit(self) -> int:
        return self.log.written

    def frame_body(self, peer: HaConnection) -> bytes:
        found = super().frame_body(peer)
        pooled = max(0, peer.next_offset - self.log.end)
        return found or bytes(self.log._pool[pooled : pooled + self.batch])


@seeded("master", "log-flushed-survives", "loses the pool at an orderly stop")
class DropsPool(Committer):
    def finish(self) -> None:
        return


@seeded("master", "log-flush-prompt", "commits only full files before commitCommitLogThoroughInterval")
class CommitsFullFiles(Committer):
    def start(self) -> None:
        super().start()
        self.least_pages = 1 << 20


@seeded("master", "queue-whole-records", "dispatches nothing that only the timer commits")
class DispatchesPutsOnly(MessageStore):
    def on_timer(self, key: tuple[str, None]) -> None:
        if key == COMMIT:
            self.committer.wake()
        else:
            super().on_timer(key)
