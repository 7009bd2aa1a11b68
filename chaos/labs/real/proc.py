"""The kernel's data on a process of this machine, or in a container on it.

None, or empty, for a process that has ended or is invisible from here, as in another machine's docker. Sources:
proc_pid_stat(5), proc_net(5), the kernel's Documentation/scheduler/sched-stats.rst (/proc/PID/schedstat).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...plan import Address

PROC = Path("/proc")
STOPPED = frozenset("Tt")
"""States of a thread that a signal, or a debugger, has stopped."""
DISK = frozenset("D")
"""State of a thread that waits in the kernel, usually for a disk."""
RUNNABLE = frozenset("R")
DEAD = frozenset("ZXx")
_MAPPED = "0000000000000000FFFF0000"
"""Prefix of an IPv4 address among those of IPv6, where Java's sockets are."""
_DIGITS = 8
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Task(NamedTuple):
    """One thread: its state, its run time, and its wait for a CPU, ns."""

    state: str
    ran_ns: int
    waited_ns: int


def tasks(pid: int, proc: Path = PROC) -> dict[int, Task]:
    """A process's living threads."""
    try:
        tids = [int(each.name) for each in (proc / str(pid) / "task").iterdir()]
    except OSError:
        return {}
    found = {tid: task(pid, tid, proc) for tid in tids}
    return {tid: each for tid, each in found.items() if each is not None and each.state not in DEAD}


def task(pid: int, tid: int, proc: Path = PROC) -> Task | None:
    """One thread of a process; None if it has ended."""
    folder = proc / str(pid) / "task" / str(tid)
    # A thread may end during the read.
    with suppress(OSError, ValueError, IndexError):
        # The brackets contain the thread's name, with arbitrary characters.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        try:
            ran, waited, *_ = map(int, (folder / "schedstat").read_text().split())
        except FileNotFoundError:
            # Coarser, and without the wait for a CPU.
            ran, waited = sum(map(int, fields[11:13])) * TICK_NS, 0
        return Task(fields[0], ran, waited)
    return None


def counts_waits(proc: Path = PROC) -> bool:
    """Whether this kernel counts a thread's wait for a CPU."""
    return (proc / "self" / "schedstat").exists()


def ran_ns(pid: int, proc: Path = PROC) -> int | None:
    """Run time of a process's threads; constant while it is stopped."""
    found = tasks(pid, proc)
    return sum(each.ran_ns for each in found.values()) if found else None


class Socket(NamedTuple):
    """A TCP socket between IPv4 addresses, as the kernel counts it."""

    local: Address
    remote: Address
    state: str
    unacknowledged: int
    """Bytes sent and not acknowledged by the peer's kernel."""
    inode: str


def sockets_of(pid: int | str, tables: Iterable[str] = ("tcp",), proc: Path = PROC) -> list[Socket]:
    """Sockets of a process's network. ``tables``: ``tcp6`` includes IPv4 ones of dual-stack sockets."""
    found = []
    for table in tables:
        # The process may have ended; its end is detected elsewhere.
        with suppress(OSError):
            for line in (proc / str(pid) / "net" / table).read_text().splitlines()[1:]:
                words = line.split()
                local, remote = (each.removeprefix(_MAPPED) for each in words[1:3])
                if local.index(":") == remote.index(":") == _DIGITS:
                    sent = int(words[4].partition(":")[0], 16)
                    found.append(Socket(_address(local), _address(remote), words[3], sent, words[9]))
    return found


def _address(text: str) -> Address:
    """The kernel writes an address in memory order: the first byte last."""
    host, _, port = text.partition(":")
    return Address(".".join(str(each) for each in reversed(bytes.fromhex(host))), int(port, 16))
