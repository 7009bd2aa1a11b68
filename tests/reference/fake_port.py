"""A fake of what the reference acts through: it records what a node did and lets time pass when it is told to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

MS = 1_000_000


class FakePort:
    """Effects and watcher in one. ``room``: bytes that sockets still take; None for no limit."""

    def __init__(self, disk: Any) -> None:
        self.disk = disk
        self.time = 0
        self.sent: dict[str, bytes] = {}
        self.closed: list[str] = []
        self.timers: dict[Hashable, int] = {}
        self.connects: list[str] = []
        self.flushes: list[Hashable] = []
        self.refusals: list[tuple[str, int, int]] = []
        self.appends: list[tuple[int, int]] = []
        self.commits: list[int] = []
        self.room: int | None = None
        self.starts: list[int] = []
        self.misfit: str | None = None
        self.syncs: list[tuple[str, str]] = []
        self.persists: list[str] = []
        self.registrations: list[Mapping[str, str] | None] = []
        self.stalled: set[Hashable] = set()
        """Threads that do not get to run."""

    def now(self) -> int:
        return self.time

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + self.time // MS

    def connect(self, address: str) -> None:
        self.connects.append(address)

    def send(self, conn: str, data: bytes) -> int:
        taken = len(data) if self.room is None else min(self.room, len(data))
        if self.room is not None:
            self.room -= taken
        self.sent[conn] = self.sent.get(conn, b"") + data[:taken]
        return taken

    def peer(self, conn: str) -> str:
        """Connections ``s1#1`` and ``s1#2`` are those of one machine."""
        return conn.partition("#")[0]

    def address(self, conn: str) -> tuple[str, int]:
        """Connection ``s1@a`` comes from the address ``a``."""
        return conn.partition("@")[2] or "127.0.0.1", 0

    def close(self, conn: str) -> None:
        self.closed.append(conn)

    def timer(self, key: Hashable, at: int) -> None:
        self.timers[key] = at

    def cancel(self, key: Hashable) -> None:
        self.timers.pop(key, None)

    def runs(self, thread: Hashable) -> bool:
        return thread not in self.stalled

    def flush(self, names: list[str], token: Hashable) -> None:
        self.flushes.append(token)

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        self.appends.append((lo, hi))

    def committed(self, upto: int) -> None:
        self.commits.append(upto)

    def flushed(self, upto: int) -> None: ...

    def expired(self, lo: int) -> None:
        self.starts.append(lo)

    def misfits(self, why: str) -> None:
        self.misfit = why

    def refused(self, conn: str, reported: int, end: int, why: str) -> None:
        self.refusals.append((conn, reported, end))

    def dispatched(self, upto: int) -> None: ...

    def synced(self, table: str, status: str) -> None:
        self.syncs.append((table, status))

    def persisted(self, table: str) -> None:
        self.persists.append(table)

    def registered(self, answer: Mapping[str, str] | None, asked: Mapping[str, str]) -> None:
        self.registrations.append(answer)
