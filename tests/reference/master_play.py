"""An HA master over a fake port, with what one says to it in a line."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from fake_port import FakePort

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.ha_master import HaConnection, HaMaster
from pairproof.reference.wire.ha import FrameReader, encode_report
from pairproof.reference.wire.record import Message

MS = 1_000_000
FILE = 2_048
HOST = (b"\x7f\0\0\x01", 10_911)


class Port(FakePort):
    """Replication flushes nothing itself."""

    def flush(self, names: list[str], token: Hashable) -> None:
        raise AssertionError("replication flushes nothing itself")

    def frames(self, conn: str) -> list[tuple[int, int]]:
        return [(offset, len(body)) for offset, body in FrameReader(1 << 20).feed(self.sent.get(conn, b""))]


class MasterPlay:
    def __init__(self, disk: Any, messages: int = 0, master: type[HaMaster] = HaMaster, **settings: Any) -> None:
        self.port = Port(disk)
        self.log = CommitLog(disk, FILE)
        self.log.recover(True)
        known = {"brokerRole": "SYNC_MASTER", "mappedFileSizeCommitLog": FILE, "haTransferBatchSize": 512}
        config = BrokerConfig(**{**known, **settings})
        self.ha = master(config, self.log, self.port, self.port)
        for _ in range(messages):
            self.put()

    def put(self, size: int = 300) -> int:
        message = Message(topic="t", queue_id=0, body=b"x" * size, born_host=HOST, store_host=HOST)
        return self.log.put(message, 0, 0).hi

    def accept(self, conn: str, first_report: int | None = None) -> None:
        self.ha.on_accepted(conn)
        if first_report is not None:
            self.report(conn, first_report)

    def report(self, conn: str, offset: int) -> None:
        self.ha.on_bytes(conn, encode_report(offset))

    def waiting(self, end: int) -> list[str]:
        """A send that ends at ``end`` waits; its answers."""
        answers: list[str] = []
        self.ha.await_slave(end, answers.append)
        return answers

    def flush(self) -> None:
        self.log.mark_flushed(self.log.end)
        self.ha.wake()

    def outrun(self, peer: HaConnection) -> None:
        """The log grows while the peer's socket takes nothing, and the files that it still needs expire."""
        self.port.room = 0
        while self.log.end < peer.next_offset + 3 * FILE:
            self.put()
        self.ha.wake()
        self.log.expire(1)
        self.ha.expired()

    def at(self, ms: int, *key: Any) -> None:
        self.port.time = ms * MS
        self.ha.on_timer(key)  # type: ignore[arg-type]
