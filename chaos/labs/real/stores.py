"""Stores of brokers that can lose power, be full and turn read-only: each on a small disk of its own.

Where it can be had (root, mkfs.ext4, loop devices), a store lies on an ext4 file system in an image file: kind
``device``. A power loss then is one: the file system is shut down (EXT4_IOC_SHUTDOWN, nothing more is written, not even
the journal), and after the broker's end it is mounted anew, as at a boot: what was flushed is there, of memory-mapped
files too, and what was not is gone, as far as the kernel had not written it out by itself, which it does now and then.
``half`` and ``hole``, which no kernel does on request, are put in place afterwards. A full disk has a file that takes
all room; a read-only one is what ext4 becomes after an error: mapped files still take writes, and no flush works.

Where root has no loop devices, or no mkfs.ext4, a store lies on a piece of memory of the same size, kind ``tmpfs``.
Elsewhere it is a plain folder, kind ``folder``. ``why_not`` says why it is no device. A power loss then takes from the
commit log what its broker had not flushed, and nothing else; memory can be full, and neither can be read-only.

The image is mounted without barriers: flushes end in the image, whose own disk does not fail here. All calls block, for
some ten milliseconds where something is mounted. Nothing of a store may be in use where that is said.
Sources: the files are MappedFileQueue's; for the rest see :mod:`pairproof.chaos.labs.real.disks`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from ....harness.errors import LabError, Unable
from .disks import BLOCK, Disk, Ram, exchange
from .folders import command

SIZE_MB = 64
SECTOR = 512
LOG = "commitlog/"
BALLAST = "ballast"
HIDDEN = "."

Image = Mapping[str, bytes]
"""Files by name, as of one moment."""


class Stores:
    """The stores of one lab, in its folder: whoever removes that removes them."""

    def __init__(self, folder: Path, size_mb: int = SIZE_MB, devices: bool = True) -> None:
        self.folder = folder / "stores"
        self.folder.mkdir()
        self.size_mb = size_mb
        self.has_mounts = devices
        """Whether there may be more than plain folders."""
        self.why_not = "" if devices else "the lab was told to have plain folders"
        """Why stores have no devices."""

    def share(self) -> bool:
        """Let others who have this folder see what is mounted in it later; whether that can be had."""
        folder = str(self.folder)
        is_shared = command("mount", "--bind", folder, folder, fails=False)
        is_shared = is_shared and command("mount", "--make-shared", folder, fails=False)
        if not is_shared:
            self.has_mounts = False
            self.why_not = self.why_not or "only root can mount a disk that containers see"
        return is_shared

    def create(self, node: str) -> Store:
        place = self.folder / node
        needs_mb = self.size_mb * (1 + sum(each.is_dir() for each in self.folder.iterdir()))
        has_mb = shutil.disk_usage(self.folder).free >> 20
        if has_mb < needs_mb:
            raise LabError(f"{self.folder} has {has_mb} MB left of {needs_mb}: make room, or set TMPDIR elsewhere")
        place.mkdir()
        if not self.why_not:
            try:
                return Store(place, "device", Disk(self.folder / f"{node}.img", place, self.size_mb))
            except LabError as why:
                self.why_not = str(why)
        if self.has_mounts:
            try:
                Ram(place, self.size_mb)
            except LabError:
                self.has_mounts = False
        return Store(place, "tmpfs" if self.has_mounts else "folder", None, self.why_not)


class Store:
    """One broker's store directory, ``path``, which stays the same whatever happens to it."""

    def __init__(self, place: Path, kind: str, disk: Disk | None, why_not: str = "") -> None:
        self.path = place / "store"
        self.kind = kind
        """``device``, ``tmpfs`` or ``folder``."""
        self.why_not = why_not
        self._ballast = place / BALLAST
        self._disk = disk
        self.is_read_only = False
        self._is_full = False
        """Whether it is to be; its ballast stays longer where the disk is read-only."""
        self._begin()

    @property
    def is_failing(self) -> bool:
        return self.is_read_only or self._is_full

    def copy_files(self, prefixes: Collection[str] = ("",)) -> dict[str, bytes]:
        return copy_files(self.path, prefixes)

    def empty(self) -> None:
        """Hold nothing, durably, on a healthy disk. Nobody may use it."""
        if self._disk is not None and self.is_read_only:
            self._disk.renew()
            self.is_read_only = self._is_full = False
        else:
            shutil.rmtree(self.path)
            self.free()
        self._begin()

    def _begin(self) -> None:
        self.path.mkdir()
        self._sync_folders(self.path.parent)

    def image(self) -> Image:
        """What it holds now, page cache included; of one moment if nobody writes meanwhile."""
        return self.copy_files()

    def restore(self, image: Image) -> None:
        """Hold what an image holds, durably. Nobody may use it."""
        self.empty()
        for name, data in image.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, 0, data)
        self._sync_folders(self.path)

    def swap(self, other: Store) -> None:
        """Exchange what both hold; who was full is full again. Nobody may use either."""
        full = [each for each in (self, other) if each._is_full]
        for each in (self, other):
            each.writable()
            each.free()
        if self._disk is not None and other._disk is not None:
            self._disk.swap(other._disk)
        elif self.kind == other.kind == "folder":
            exchange(self.path, other.path)
        else:
            mine, its = self.image(), other.image()
            self.restore(its)
            other.restore(mine)
        for each in full:
            each.fill()

    def lose_power(self, keep: str, flushed: int, end: Callable[[], None]) -> dict[str, int]:
        """Lose what was not flushed, while ``end`` ends whoever uses it; what was done.

        ``keep``: of the commit log's bytes from ``flushed`` on ``none`` is kept, ``all``, the first ``half``, or all
        but a sector in the middle (``hole``). Everything else goes as it was flushed; unless on a device, nothing else.
        """
        seen = self.copy_files((LOG,))
        if self._disk is not None:
            # A disk that is read-only takes nothing any more, and refuses to be asked.
            self._disk.shut_down(flushed=keep == "all" and not self.is_read_only)
            end()
            self._reboot(self._disk)
            if keep in ("half", "hole"):
                self._settle(seen, keep, flushed)
            return {"file_systems_shut_down": 1}
        end()
        if keep != "all":
            self._settle(seen, keep, flushed)
        return {"log_tails_cut": 1}

    def _settle(self, seen: Image, keep: str, flushed: int) -> None:
        """Let the log hold, from ``flushed`` on, what was seen there, but for what ``keep`` lets go."""
        files = sorted((int(name[len(LOG) :]), data) for name, data in seen.items())
        written = max((start + len(data.rstrip(b"\0")) for start, data in files if data.rstrip(b"\0")), default=0)
        lo, hi = _lost(keep, flushed, max(flushed, written))
        for start, data in files:
            at = max(0, flushed - start)
            if at >= len(data):
                continue
            left = bytearray(data)
            first, last = max(0, lo - start), max(0, min(hi - start, len(data)))
            left[first:last] = bytes(max(0, last - first))
            path = self.path / f"{LOG}{start:020d}"
            if any(left[at:]) or (at and path.exists()):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._write(path, at, bytes(left[at:]))
            else:
                # Its name was no more durable than what it held.
                path.unlink(missing_ok=True)
        self._sync_folders(self.path)

    def fill(self) -> int:
        """Take all room there is; bytes taken. LabError for a plain folder, Unable where nothing is written now."""
        if self.kind == "folder":
            raise LabError(f"{self.path} is a plain folder: {self.why_not}")
        if self.is_read_only:
            raise Unable("the disk is read-only already: nothing can fill it")
        taken = 0
        fd = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            room = os.statvfs(self.path)
            piece = room.f_bavail * room.f_frsize
            while piece >= BLOCK:
                try:
                    os.posix_fallocate(fd, taken, piece)
                    taken += piece
                except OSError as why:
                    if why.errno != errno.ENOSPC:
                        raise LabError(f"cannot fill {self.path}: {why.strerror}") from why
                    piece //= 2
            # It is still there after a power loss.
            self._sync(fd)
        finally:
            os.close(fd)
        self._is_full = True
        return taken

    def free(self) -> None:
        """Give back the room that :meth:`fill` took, if it is still taken; of a read-only disk later."""
        self._is_full = False
        if not self.is_read_only:
            self._ballast.unlink(missing_ok=True)

    def read_only(self) -> None:
        """Turn read-only, as after a disk's error, also while it is used. LabError unless it is a device."""
        self._needs_disk().fail()
        self.is_read_only = True

    def writable(self) -> None:
        """Take writes again, if it does not; what was not flushed is gone then. Nobody may use it."""
        if self.is_read_only:
            self._reboot(self._needs_disk())

    def _reboot(self, disk: Disk) -> None:
        disk.reboot()
        self.is_read_only = False
        if not self._is_full:
            self.free()

    def _write(self, path: Path, at: int, data: bytes) -> None:
        """Write into a file that may be new; durable but for its name."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(fd, data, at)
            self._sync(fd)
        finally:
            os.close(fd)

    def _sync_folders(self, path: Path) -> None:
        for folder, _, _ in os.walk(path):
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._sync(fd)
            finally:
                os.close(fd)

    def _sync(self, fd: int) -> None:
        # The machine of the others never loses power.
        if self._disk is not None:
            os.fsync(fd)

    def _needs_disk(self) -> Disk:
        if self._disk is None:
            raise LabError(f"{self.path} is not a device: {self.why_not}")
        return self._disk


def copy_files(store: Path, prefixes: Collection[str]) -> dict[str, bytes]:
    """A store's files whose names, relative to it, begin so: as any process sees them now."""
    found = {}
    for folder, _, names in os.walk(store):
        for each in names:
            path = Path(folder, each)
            name = path.relative_to(store).as_posix()
            # A hidden one is under construction.
            if each[0] != HIDDEN and name.startswith(tuple(prefixes)):
                try:
                    found[name] = path.read_bytes()
                except FileNotFoundError:
                    continue
                except OSError as why:
                    raise LabError(f"cannot read {path}: {why.strerror}") from why
    return found


def _lost(keep: str, lo: int, hi: int) -> tuple[int, int]:
    """The range of a log's unflushed bytes [lo, hi) that is lost."""
    middle = lo + (hi - lo) // 2
    if keep == "half":
        return middle, hi
    if keep == "hole":
        first = middle - middle % SECTOR
        return max(lo, first), min(hi, first + SECTOR)
    return lo, hi
