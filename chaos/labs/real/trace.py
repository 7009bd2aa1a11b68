"""What a process tells of its inside, as lines of a file.

A line is a JSON array [t, kind, ...columns] and is written, with one write and no buffer, before the process goes on:
so kill -9 loses none, and whatever somebody else sees it do later has a later time. ``t`` is CLOCK_MONOTONIC in ns,
which all processes of a machine share. A trace that cannot be written ends the node: without it the trial could not be
judged.
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
    """Writes one node's lines to ``path``, which is created, or added to."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, kind: str, *columns: object) -> None:
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


class TraceReader:
    """Reads a trace while it is written. A line that has no end yet waits, and that of a killed node for ever."""

    def __init__(self, path: Path, kinds: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """``kinds``: names of the columns behind time and kind, where no others can be there."""
        self.path = path
        self.kinds = kinds
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
            known = isinstance(time_ns, int) and isinstance(kind, str)
            known = known and (self.kinds is None or len(columns) == len(self.kinds[kind]))
        except (ValueError, TypeError, KeyError):
            known = False
        if not known:
            raise LabError(f"{self.path}: no line of a trace: {line[:100]!r}; is somebody else writing there?")
        return list(row)
