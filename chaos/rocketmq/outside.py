"""What can be said of a broker that tells nothing of its inside: it serves, and how far its log goes.

It stands for a :class:`pairproof.chaos.labs.real.trace.TraceReader`: rows that nobody has traced, of what is to be seen
from outside. That it serves its output says. Where its log ends its files say, which are read as they grow: a few bytes
at a time, since what was read once is not read again.

Left out: when anything happened. So no row becomes an event but ``start``, whose range is not known. A broker says late
that it serves: its HA client has connected by then. So :func:`dated` dates a start by the first connect that the taps
saw of that process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pairproof.chaos.observers.stored_record import MAGIC, MAGIC_BLANK, MAGIC_V2, START
from pairproof.chaos.plan import UNKNOWN, Place, Row, SeenFromOutside
from pairproof.harness.history import Event

SLAVES_SIDE = "s"


class LogFollower:
    """Where a growing log ends: after its last record whose size and magic number are there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.end: int | None = None
        self._file: tuple[int, int] | None = None
        """The start of the file that it ends in, and that file's size."""

    def look(self) -> int:
        """Where it ends now; 0 where there is none yet."""
        if self._file is None:
            self._file = self._first()
            if self._file is None:
                return 0
            self.end = self._file[0]
        while self._step():
            pass
        return self.end or 0

    def _first(self) -> tuple[int, int] | None:
        try:
            names = sorted(each.name for each in self.folder.iterdir() if each.name.isdigit())
            size = (self.folder / names[0]).stat().st_size if names else 0
        except OSError:
            # Not there yet, or its disk has no power any more.
            return None
        # It is made empty, and gets its size a moment later.
        return (int(names[0]), size) if size else None

    def _step(self) -> bool:
        assert self._file is not None and self.end is not None
        start, size = self._file
        try:
            with (self.folder / f"{start:020d}").open("rb", buffering=0) as file:
                while self.end < start + size:
                    head = os.pread(file.fileno(), START.size, self.end - start)
                    length, magic = START.unpack(head) if len(head) == START.size else (0, 0)
                    if magic not in (MAGIC, MAGIC_V2, MAGIC_BLANK) or not 0 < length <= start + size - self.end:
                        return False
                    self.end += length
        except OSError:
            # As above; or the next file is not there yet.
            return False
        self._file = start + size, size
        return True


class OutsideView(SeenFromOutside):
    """See the module. ``log``: the folder of its commit log."""

    def __init__(self, at: Place, is_ready: Callable[[], bool], log: Path) -> None:
        super().__init__(at, is_ready)
        self._log = LogFollower(log)
        self._end: int | None = None

    def read(self) -> list[Row]:
        rows = super().read()
        if self.has_started and self.lives:
            end = self._log.look()
            if end != self._end:
                self._end = end
                rows.append([time.monotonic_ns(), "reaches", end])
        return rows


def dated(events: Iterable[Event], born: Mapping[tuple[str, int], int]) -> list[Event]:
    """Events in order of time, each start that was seen from outside no later than its process's first connect.

    ``born``: by node and incarnation, when its process began, ns: an earlier connect is another process's.
    """
    listed = list(events)
    connects = [each for each in listed if each.kind == "connect" and each.side == SLAVES_SIDE]
    moved, others = [], []
    for each in listed:
        if each.kind == "start" and each.f == UNKNOWN:
            since = born[each.node or "", each.incarnation or 0]
            seen = (one.t for one in connects if one.node == each.node and since <= one.t < each.t)
            moved.append(each._replace(t=min(seen, default=each.t)))
        else:
            others.append(each)
    # At equal times a start stands before what its process did: the sort is stable.
    return sorted([*moved, *others], key=lambda event: event.t)
