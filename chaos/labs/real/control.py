"""Disturbs a node's disk, clock and dispatch on request, by a few numbers shared by the harness and the node's process.

The node reads them at every flush, dispatch and read of its wall clock, so a change takes effect at once at no cost. At
armed appends, flushes, sends and receives it stops until the harness has begun a fault. The reference's own shell has
these hooks, and the agent gives them to a Java broker (decision 61). No library is preloaded; other targets have none.
The node counts the effects, which proves that a fault took effect.
"""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path
from struct import Struct

from ....harness.ports.timing import POINTS

_INT = Struct("=q")
STOPS_AT = {point: f"{point}_at" for point in POINTS}
PASSED = {point: f"{point}_passed" for point in POINTS}
TRIGGERS = (*STOPS_AT.values(), "goes")
HOOKS = {
    "stalled": "flushes", "slow_ms": "flushes", "lies": "flushes", "skew_ms": "clock", "keep_files": "retention",
    "undispatched": "dispatch", **dict.fromkeys(TRIGGERS, "triggers"),
}  # fmt: skip
"""The harness's numbers, and the part of a node that each affects. A node's program declares its supported ones."""
FIELDS = (*HOOKS, "held", "slowed", "lied", "skewed", "dispatches_held", *PASSED.values(), "stops")
STOP_S = 0.25
"""Longest stop of a node at an armed point: less than any law allows between two steps."""
POLL_S = 0.000_5
SIZE = _INT.size * len(FIELDS)


class Control:
    """The numbers, each of 8 bytes, in a file that both sides map. Each has one writer, so no lock is needed.

    The harness sets ``stalled`` (1: flushes do not end), ``slow_ms`` (delay of each flush), ``lies`` (1: flushes have
    no effect), ``skew_ms`` (how far the wall clock is ahead), ``keep_files`` (log files that a broker keeps at SIGUSR1)
    and ``undispatched`` (1: queues and index receive nothing from the log). The node counts the effects in flushed
    files, clock reads and dispatches, over all its incarnations: ``held``, ``slowed``, ``lied``, ``skewed``,
    ``dispatches_held``.

    For each of :data:`~pairproof.harness.ports.timing.POINTS` the node counts its passes (``send_passed``) while the
    harness sets the pass at which to stop (``send_at``, 0 for none). The node counts each stop (``stops``) and
    continues when the harness has acknowledged it (``goes``), or after ``STOP_S``.
    """

    def __init__(self, path: Path) -> None:
        """Map the file, creating it if needed."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Allocated, not truncated to length: on a full disk a write into the mapping would kill its process.
            os.posix_fallocate(fd, 0, SIZE)
            self._shared = mmap.mmap(fd, SIZE)
        finally:
            os.close(fd)

    def get(self, field: str) -> int:
        return int(_INT.unpack_from(self._shared, FIELDS.index(field) * _INT.size)[0])

    def set(self, field: str, value: int) -> None:
        _INT.pack_into(self._shared, FIELDS.index(field) * _INT.size, value)

    def count(self, field: str) -> None:
        self.set(field, self.get(field) + 1)

    def pass_point(self, point: str) -> None:
        stops_at = self.get(STOPS_AT[point])
        if not stops_at:
            return
        self.count(PASSED[point])
        if self.get(PASSED[point]) == stops_at:
            self.count("stops")
            ends = time.monotonic() + STOP_S
            while self.get("goes") < self.get("stops") and time.monotonic() < ends:
                time.sleep(POLL_S)

    def clear(self) -> None:
        """Reset to a healthy disk, a correct clock and zero counts."""
        self._shared[:] = bytes(SIZE)

    def close(self) -> None:
        """Unmap; the file stays."""
        self._shared.close()
