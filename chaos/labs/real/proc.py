"""What the kernel says of a process that runs on this machine, or in a container of it.

None, or nothing, of a process that is gone and of one that cannot be seen from here, as in another machine's docker.
Sources: proc_pid_stat(5), the kernel's Documentation/scheduler/sched-stats.rst (/proc/PID/schedstat).
"""

from __future__ import annotations

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
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        ran, waited, *_ = (folder / "schedstat").read_text().split()
        return Task(state, int(ran), int(waited))
    return None


def ran_ns(pid: int, proc: Path = PROC) -> int | None:
    """For how long the threads of a process have run; unchanged while it stands still."""
    found = tasks(pid, proc)
    return sum(each.ran_ns for each in found.values()) if found else None
