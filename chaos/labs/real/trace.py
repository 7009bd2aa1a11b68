"""What a node process tells of its inside: one line for each thing that its watcher hears, and both ends of that.

A line is a JSON array [t, kind, ...columns] and is written, with one write and no buffer, before the node goes on: so
kill -9 loses none, and whatever somebody else sees the node do later has a later time. ``t`` is CLOCK_MONOTONIC in ns,
which all processes of a machine share. The kinds and their columns are :data:`KINDS`; offsets are bytes of the log,
digests the history's. A trace that cannot be written ends the node: without it the trial could not be judged.

Left out: everything that a peer can see, which taps and clients record; flushes of anything but the log.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any

from pairproof.chaos.observers.stored_record import stored_key
from pairproof.harness.errors import LabError
from pairproof.harness.history import digest
from pairproof.reference.ports import Conn
from pairproof.reference.shell.log import Log, LogWatcher

KINDS = {
    "start": ("f", "lo", "hi"),
    "ready": (),
    "append": ("lo", "hi", "digest", "f", "message"),
    "flush": ("hi",),
    "dispatch": ("hi",),
    "sync": ("table", "status"),
    "persist": ("table",),
    "register": ("status", "masterAddr", "haServerAddr"),
    "expire": ("lo",),
    "unreached": ("address",),
    "refused": ("peer", "reported", "end", "why"),
    "stopping": (),
    "stopped": (),
    "failed": ("why",),
    "seen": ("kind", "fields"),
    "met": ("address", "label", "who"),
    "heard": ("who",),
    "reaches": ("hi",),
}
"""Columns behind time and kind. ``start``: recovery (normal, abnormal, empty) and the log's range after it; ``ready``:
the node listens; ``unreached``: it could not connect there; ``peer``: ip:port of the other end; ``failed``: one line,
as on stderr. ``seen``, ``met`` and ``heard`` are those of an observer, what its taps tell, see
:mod:`pairproof.chaos.rocketmq.ha_ears`; ``reaches``: where the log of a node ends that does not trace itself, see
:mod:`pairproof.chaos.rocketmq.outside`.
"""
READ_BYTES = 1 << 20

Row = list[Any]


class Trace:
    """Writes one node's lines to ``path``, which is created, or added to."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, kind: str, *columns: object) -> None:
        """Write one line, now."""
        self.write(json.dumps([time.monotonic_ns(), kind, *columns], separators=(",", ":")))

    def close(self) -> None:
        os.close(self.fd)

    def write(self, line: str) -> None:
        """Write ``line`` and its end, all or LabError."""
        data = line.encode() + b"\n"
        try:
            written = os.write(self.fd, data)
        except OSError as why:
            raise LabError(f"the trace cannot be written: {why.strerror}") from why
        if written != len(data):
            raise LabError("the trace cannot be written: is the disk of the lab's folder full?")


class TraceWatcher(LogWatcher):
    """Hears what happens inside a broker: traces it, then says of it what the broker's log says."""

    def __init__(self, trace: Trace, log: Log, name_servers: int) -> None:
        super().__init__(log, name_servers)
        self.trace = trace

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        """Bytes entered the log. Put together by hand, since no other line is written as often."""
        key = stored_key(data) if f == "put" else None
        message = "null" if key is None else encode_basestring_ascii(key)
        self.trace.write(f'[{time.monotonic_ns()},"append",{lo},{hi},{digest(data)},"{f}",{message}]')

    def flushed(self, upto: int) -> None:
        """The log is durable up to ``upto``."""
        self.trace.note("flush", upto)

    def dispatched(self, upto: int) -> None:
        """Queues and index hold every whole message up to ``upto``."""
        self.trace.note("dispatch", upto)

    def synced(self, table: str, status: str) -> None:
        """A slave's metadata sync: asked, same, applied or failed."""
        self.trace.note("sync", table, status)
        super().synced(table, status)

    def persisted(self, table: str) -> None:
        """A table was written to its file."""
        self.trace.note("persist", table)

    def registered(self, answer: Mapping[str, str] | None) -> None:
        """A name server answered, or not."""
        told = answer or {}
        status = "failed" if answer is None else "ok"
        self.trace.note("register", status, told.get("masterAddr"), told.get("haServerAddr"))
        super().registered(answer)

    def expired(self, lo: int) -> None:
        """The oldest files are gone."""
        self.trace.note("expire", lo)
        super().expired(lo)

    def refused(self, conn: Conn, reported: int, end: int, why: str) -> None:
        """The master will not serve this peer."""
        self.trace.note("refused", str(conn), reported, end, why)
        super().refused(conn, reported, end, why)


class TraceReader:
    """Reads a trace while it is written. A line that has no end yet waits, and that of a killed node for ever."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0
        self._rest = b""

    def read(self) -> list[Row]:
        """The whole lines since the last call, oldest first; none where the file is not there yet.

        LabError for a line that no node can have written.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        try:
            data = self._rest
            while more := os.pread(fd, READ_BYTES, self._at):
                self._at += len(more)
                data += more
        finally:
            os.close(fd)
        whole, end, self._rest = data.rpartition(b"\n")
        return [self._row(line) for line in whole.split(b"\n")] if end else []

    def _row(self, line: bytes) -> Row:
        try:
            row = json.loads(line)
            time_ns, kind, *columns = row
            known = isinstance(time_ns, int) and len(columns) == len(KINDS[kind])
        except (ValueError, TypeError, KeyError):
            known = False
        if not known:
            raise LabError(f"{self.path}: no line of a trace: {line[:100]!r}; is somebody else writing there?")
        return list(row)
