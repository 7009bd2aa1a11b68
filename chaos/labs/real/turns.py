"""Concurrent trials on one machine start their nodes in turn.

A start uses one or two cores for seconds; the rest of a trial mostly waits. Concurrent starts would starve each other:
nodes would stall for seconds, and the trials would be unknown and repeated.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CORES = 2
"""Cores that a trial's start uses."""
LONGEST_S = 120.0
"""A trial starts after this wait without its turn: another process may hang."""
LOOK_S = 0.05


@contextmanager
def turn(folder: Path | None = None, longest_s: float = LONGEST_S) -> Iterator[None]:
    """Wait for this process's turn to start nodes, at most ``longest_s``.

    ``folder``: of the locks that one user's processes share; default: the machine's temporary folder. Where locks
    cannot be made, there is no wait.
    """
    held = _wait(folder or Path(tempfile.gettempdir()), longest_s)
    try:
        yield
    finally:
        if held is not None:
            # Forked nodes have this file open, too: closing it here would not release the lock.
            fcntl.flock(held, fcntl.LOCK_UN)
            os.close(held)


def _wait(folder: Path, longest_s: float) -> int | None:
    names = [folder / f"pairproof-{os.getuid()}-starts-{number}" for number in range(_places())]
    until = time.monotonic() + longest_s
    while True:
        for name in names:
            try:
                opened = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except OSError:
                return None
            with suppress(OSError):
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return opened
            os.close(opened)
        if time.monotonic() >= until:
            return None
        time.sleep(LOOK_S)


def _places() -> int:
    return max(1, len(os.sched_getaffinity(0)) // CORES)
