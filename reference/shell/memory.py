"""This machine's memory: its own, or its control groups' limit, whichever is less.

A container-aware JDK reports the same as physical memory (JDK 10, 8u191 and later), so a broker in a container measures
readers against the container's limit. It is read once, at the start, as in RocketMQ. Limits are those of the process's
own group and of every visible group above it: ``memory.max`` of cgroup v2, ``memory.limit_in_bytes`` of v1. Unreadable
limits are ignored.

Left out: swap, and soft limits (``memory.high``). Source: StoreUtil.getTotalPhysicalMemorySize, OperatingSystemMXBean.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

PROC = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")
V1, V2 = "memory.limit_in_bytes", "memory.max"
MAX_LINES = 100
"""Lines of a process's list of groups; kernels have some dozen hierarchies."""
MAX_DEPTH = 100
"""Levels of nested groups."""
MAX_DIGITS = 30


def machine_memory(proc: Path = PROC, groups: Path = GROUPS, physical: int | None = None) -> int:
    """Bytes. ``physical``: the machine's own memory, by default from the system."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if physical is None else physical
    return min([whole, *(limit for file in _files(proc, groups) if (limit := _limit(file)) is not None)])


def _files(proc: Path, groups: Path) -> Iterator[Path]:
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()[:MAX_LINES]
    except (OSError, ValueError):
        lines = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield from _upwards(groups, path, V2)
        elif "memory" in controllers.split(","):
            yield from _upwards(groups / "memory", path, V1)


def _upwards(mounted: Path, path: str, name: str) -> Iterator[Path]:
    """The file of a group and of those above it, up to the mount.

    A container without a cgroup namespace has its own group mounted as the root, under a path that it cannot see.
    """
    parts = PurePosixPath(path).parts[1 : MAX_DEPTH + 1]
    # The kernel writes ".." for a group outside the mount: neither it nor any group above it is visible.
    if ".." not in parts:
        for count in range(len(parts) + 1):
            yield mounted.joinpath(*parts[:count], name)


def _limit(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except (OSError, ValueError):
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        return None
    return int(text) or None
