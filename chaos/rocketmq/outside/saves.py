"""Follows a broker's saves of its tables through inotify: each save once.

A table is saved once its file is closed after a write (5.x) or renamed into place (4.9); earlier writes, to ``.tmp``
and ``.bak``, do not count. A save is dated by the file's change time, which has the resolution of the kernel's tick: up
to 10 ms early. If a table is saved several times between two polls, only the last save gets this date.

Source: ConfigManager.persist, MixAll.string2File, SlaveSynchronize.syncDelayOffset of RocketMQ 4.9 and 5.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from types import MappingProxyType

from ....harness.errors import LabError

TABLES = MappingProxyType({
    "topics.json": "topics", "subscriptionGroup.json": "groups", "consumerOffset.json": "offsets",
    "delayOffset.json": "delays",
})  # fmt: skip
MAX_READ = 1 << 16
_CLOSE_WRITE, _MOVED_TO, _OVERFLOW = 0x8, 0x80, 0x4000
_HEAD = Struct("iIII")
"""Watch, mask, cookie, and the length of the name behind it."""
_libc = ctypes.CDLL(None, use_errno=True)

Save = tuple[int, str]
"""Time (CLOCK_MONOTONIC, ns) and table."""


class SavesFollower:
    """The saves of one broker's incarnation. LabError without inotify."""

    def __init__(self, folder: Path, wall_ns: int) -> None:
        """``folder``: of the tables' files. ``wall_ns``: how far the wall clock is ahead of the monotonic one."""
        self.folder = folder
        self._wall_ns = wall_ns
        self._polled = time.monotonic_ns()
        self._fd = _made()
        self.close = weakref.finalize(self, os.close, self._fd)
        self._is_watched = self._watch()

    def poll(self) -> list[Save]:
        absent, self._polled = self._polled, time.monotonic_ns()
        before = list[str]()
        if not self._is_watched:
            self._is_watched = self._watch()
            before = [each for each in TABLES if (self.folder / each).exists()] if self._is_watched else []
        # A save since the watch began is in its queue, and perhaps among these files.
        names = list(self._names())
        names = [each for each in before if each not in names] + names
        found, dated = list[Save](), set[str]()
        for name in reversed(names):
            # A table's last save comes first here.
            found.append((absent if name in dated else self._saved_at(name, absent), TABLES[name]))
            dated.add(name)
        return sorted(found)

    def _watch(self) -> bool:
        done: bool = _libc.inotify_add_watch(self._fd, os.fsencode(self.folder), _CLOSE_WRITE | _MOVED_TO) >= 0
        # On a disk without power nothing is saved.
        if not done and ctypes.get_errno() not in (errno.ENOENT, errno.EIO):
            raise _watch_error("raise fs.inotify.max_user_watches")
        return done

    def _names(self) -> Iterator[str]:
        """The tables' files that were saved, in order."""
        while True:
            try:
                data = os.read(self._fd, MAX_READ)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                _, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size + length
                if mask & _OVERFLOW:
                    raise LabError(f"{self.folder}: the kernel's event queue overflowed")
                name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
                if name in TABLES:
                    yield name

    def _saved_at(self, name: str, absent: int) -> int:
        """Limited to the time between the last poll, which did not see it, and this one."""
        try:
            changed = (self.folder / name).stat().st_ctime_ns - self._wall_ns
        except OSError:
            changed = absent
        return min(max(changed, absent), time.monotonic_ns())


def _made() -> int:
    for left in (1, 0):
        fd: int = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if fd >= 0:
            return fd
        if left:
            # Those of earlier trials may only wait to be collected.
            gc.collect()
    raise _watch_error("raise fs.inotify.max_user_instances")


def _watch_error(remedy: str) -> LabError:
    return LabError(f"the kernel does not report saved files ({os.strerror(ctypes.get_errno())}): {remedy}")
