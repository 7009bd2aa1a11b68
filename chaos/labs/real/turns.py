"""Trials that are played at once on a machine start their nodes one after the other.

A start takes a core or two for seconds, and what follows mostly waits. Where several trials start together all of them
are starved: nodes stand still for seconds, and what that left open is played again.
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
"""What a trial's start keeps busy."""
LONGEST_S = 120.0
"""After which a trial starts although it is not its turn: somebody may hang."""
LOOK_S = 0.05


@contextmanager
def turn(folder: Path | None = None, longest_s: float = LONGEST_S) -> Iterator[None]:
    """It is this process's turn to start nodes, or ``longest_s`` have passed.

    ``folder``: where the locks lie that the processes of one user share; a machine's folder for temporary files. Where
    they cannot be made, it is everybody's turn.
    """
    held = _wait(folder or Path(tempfile.gettempdir()), longest_s)
    try:
        yield
    finally:
        if held is not None:
            # Nodes that were forked meanwhile have this file open, too: closing it here would not be enough.
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
