"""A node's disk, clock and dispatch, disturbed on request: a few numbers that the harness and the node's process share.

The node reads them at every flush, dispatch and look at its wall clock, so a change acts at once and costs nothing.
The reference's own shell has these seams, and a Java broker those that the agent gives it (decision 61): no library is
preloaded, and other targets have none.
The node counts what was done to it, which proves that a fault has bitten.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from struct import Struct

_INT = Struct("=q")
FIELDS = (
    "stalled", "slow_ms", "lies", "skew_ms", "keep_files", "undispatched",
    "held", "slowed", "lied", "skewed", "dispatches_held",
)  # fmt: skip
SEAMS = dict(zip(FIELDS, ("flushes", "flushes", "flushes", "clock", "retention", "dispatch"), strict=False))
"""What the harness sets, and what of a node that is about. Which of them a node obeys its program says."""
SIZE = _INT.size * len(FIELDS)


class Control:
    """The numbers, each of 8 bytes, in a file that both sides map. Each has one writer, so nothing is locked.

    The harness sets ``stalled`` (1: flushes do not end), ``slow_ms`` (what each takes longer), ``lies`` (1: flushes
    do nothing), ``skew_ms`` (how far the wall clock is ahead), ``keep_files`` (how many of its log's files a broker
    keeps when it gets SIGUSR1) and ``undispatched`` (1: queues and index get nothing from the log). The node counts
    what these have done, in files flushed, looks at the clock and dispatches, over all its incarnations: ``held``,
    ``slowed``, ``lied``, ``skewed``, ``dispatches_held``.
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
        """One of the numbers."""
        return int(_INT.unpack_from(self._shared, FIELDS.index(field) * _INT.size)[0])

    def set(self, field: str, value: int) -> None:
        _INT.pack_into(self._shared, FIELDS.index(field) * _INT.size, value)

    def count(self, field: str) -> None:
        self.set(field, self.get(field) + 1)

    def clear(self) -> None:
        """A healthy disk, a true clock, nothing counted."""
        self._shared[:] = bytes(SIZE)

    def close(self) -> None:
        """Unmap; the file stays."""
        self._shared.close()
