"""A node's disk, clock and dispatch, disturbed on request: a few numbers that the harness and the node's process share.

The node reads them at every flush, dispatch and look at its wall clock, so a change acts at once and costs nothing. At
its appends, flushes, sends and receives it stops where the harness wants it to, until that has begun a fault.
The reference's own shell has these seams, and a Java broker those that the agent gives it (decision 61): no library is
preloaded, and other targets have none.
The node counts what was done to it, which proves that a fault has bitten.
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
"""What the harness sets, and what of a node that is about. Which of them a node obeys its program says."""
FIELDS = (*HOOKS, "held", "slowed", "lied", "skewed", "dispatches_held", *PASSED.values(), "stops")
STOP_S = 0.25
"""How long a node stands still at most where something is armed: less than any law allows for between two steps."""
POLL_S = 0.000_5
SIZE = _INT.size * len(FIELDS)


class Control:
    """The numbers, each of 8 bytes, in a file that both sides map. Each has one writer, so nothing is locked.

    The harness sets ``stalled`` (1: flushes do not end), ``slow_ms`` (what each takes longer), ``lies`` (1: flushes
    do nothing), ``skew_ms`` (how far the wall clock is ahead), ``keep_files`` (how many of its log's files a broker
    keeps when it gets SIGUSR1) and ``undispatched`` (1: queues and index get nothing from the log). The node counts
    what these have done, in files flushed, looks at the clock and dispatches, over all its incarnations: ``held``,
    ``slowed``, ``lied``, ``skewed``, ``dispatches_held``.

    Of each of :data:`~pairproof.harness.ports.timing.POINTS` the node counts how often it passes it (``send_passed``)
    while the harness says where to stop (``send_at``, 0 for nowhere). Where it stops it counts that (``stops``), and
    goes on when the harness has seen so many (``goes``), or after ``STOP_S``.
    """

    def __init__(self, path: Path) -> None:
        """Map the file; it is created if it is not there."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Not just made longer: where the disk is full, a write into the mapping would kill its process.
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
        """The node does so; it stands still if something is armed there."""
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
        """A healthy disk, a true clock, nothing counted."""
        self._shared[:] = bytes(SIZE)

    def close(self) -> None:
        """Unmap; the file stays."""
        self._shared.close()
