"""A process's trace of its internal events, as lines of a file.

A line is a JSON array [t, type, ...columns] and is written, with one unbuffered write, before the process continues:
kill -9 loses none, and any later observation of it has a later time. ``t`` is CLOCK_MONOTONIC in ns, common to all
processes of a machine. A failed write ends the node: without the trace the trial could not be judged.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from ....harness.errors import LabError
from ...plan import Row

READ_BYTES = 1 << 20


class Trace:
    """Writes one node's lines to ``path``, which is created or appended to."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, kind: str, *columns: object) -> None:
        self.write(json.dumps([time.monotonic_ns(), kind, *columns], separators=(",", ":")))

    def close(self) -> None:
        os.close(self.fd)

    def write(self, line: str) -> None:
        """Write ``line`` and a newline completely, or raise LabError."""
        data = line.encode() + b"\n"
        try:
            written = os.write(self.fd, data)
        except OSError as why:
            raise LabError(f"the trace cannot be written: {why.strerror}") from why
        if written != len(data):
            raise LabError("the trace cannot be written: is the disk of the lab's folder full?")


class TraceReader:
    """Reads a growing trace. An incomplete line is kept until its end arrives; a killed node's is never returned."""

    def __init__(self, path: Path, kinds: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """``kinds``: columns behind time and type, for traces with a fixed set of types."""
        self.path = path
        self.kinds = kinds
        self._at = 0
        self._rest = b""

    def read(self) -> list[Row]:
        """The complete lines since the last call, oldest first; empty if the file does not exist yet.

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
            known = isinstance(time_ns, int) and isinstance(kind, str)
            known = known and (self.kinds is None or len(columns) == len(self.kinds[kind]))
        except (ValueError, TypeError, KeyError):
            known = False
        if not known:
            raise LabError(f"{self.path}: not a line of a trace: {line[:100]!r}; is another process writing there?")
        return list(row)
