"""What the kernel says of a process that runs on this machine, or in a container of it.

None, or nothing, of a process that is gone and of one that cannot be seen from here, as in another machine's docker.
Sources: proc_pid_stat(5), the kernel's Documentation/scheduler/sched-stats.rst (/proc/PID/schedstat).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
STOPPED = frozenset("Tt")
"""States of a thread that a signal, or a debugger, has stopped."""
DISK = frozenset("D")
"""States of a thread that waits in the kernel, which as a rule is for a disk."""
RUNNABLE = frozenset("R")
DEAD = frozenset("ZXx")
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Task(NamedTuple):
    """One thread: its state, for how long it has run, and for how long it could have but got no CPU, ns."""

    state: str
    ran_ns: int
    waited_ns: int


def tasks(pid: int, proc: Path = PROC) -> dict[int, Task]:
    """A process's threads that live."""
    try:
        tids = [int(each.name) for each in (proc / str(pid) / "task").iterdir()]
    except OSError:
        return {}
    found = {tid: task(pid, tid, proc) for tid in tids}
    return {tid: each for tid, each in found.items() if each is not None and each.state not in DEAD}


def task(pid: int, tid: int, proc: Path = PROC) -> Task | None:
    """One thread of a process."""
    folder = proc / str(pid) / "task" / str(tid)
    # A thread may end while it is looked at.
    with suppress(OSError, ValueError, IndexError):
        # What is in brackets is the thread's name, and anything may be.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        try:
            ran, waited, *_ = map(int, (folder / "schedstat").read_text().split())
        except FileNotFoundError:
            # Coarser, and how long it waited nobody knows.
            ran, waited = sum(map(int, fields[11:13])) * TICK_NS, 0
        return Task(fields[0], ran, waited)
    return None


def counts_waits(proc: Path = PROC) -> bool:
    """Whether this kernel counts how long a thread waits for a CPU."""
    return (proc / "self" / "schedstat").exists()


def ran_ns(pid: int, proc: Path = PROC) -> int | None:
    """For how long the threads of a process have run; unchanged while it stands still."""
    found = tasks(pid, proc)
    return sum(each.ran_ns for each in found.values()) if found else None
