"""Stores of brokers that can lose power, be full and turn read-only: each on its own small disk.

With root, mkfs.ext4 and loop devices, a store is on an ext4 file system in an image file: kind ``device``. Its power
loss is real: the file system is shut down (EXT4_IOC_SHUTDOWN: no more writes, not even to the journal), and mounted
again after the broker's end, as at a boot. Flushed bytes are there, also of memory-mapped files. Others are lost,
except for pages that the kernel has written on its own. ``half`` and ``hole``, which no kernel does on request, are
written afterwards. A full disk has a file that takes all room. A read-only one is in ext4's state after an error:
mapped files still accept writes, and no flush succeeds.

If root lacks loop devices or mkfs.ext4, a store is on a tmpfs of the same size, kind ``tmpfs``. Otherwise it is a plain
folder, kind ``folder``. ``why_not`` has the reason. A power loss then only removes the commit log's unflushed bytes; a
tmpfs can be full, and neither can be read-only.

The image is mounted without barriers: flushes end in the image, whose own disk does not fail here. All calls block, for
some ten milliseconds where something is mounted. "Unused" means that no process has a file of the store open. Sources:
the files are MappedFileQueue's; for the rest see :mod:`pairproof.chaos.labs.real.disks`.
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
"""Files by name, at one moment."""


class Stores:
    def __init__(self, folder: Path, size_mb: int = SIZE_MB, devices: bool = True) -> None:
        self.folder = folder / "stores"
        self.folder.mkdir()
        self.size_mb = size_mb
        self.has_mounts = devices
        """Whether stores other than plain folders are possible."""
        self.why_not = "" if devices else "the lab was started with plain folders"

    def share(self) -> bool:
        """Let other processes with this folder see later mounts in it; returns whether that is possible."""
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
    """One broker's store directory, at a constant ``path``."""

    def __init__(self, place: Path, kind: str, disk: Disk | None, why_not: str = "") -> None:
        self.path = place / "store"
        self.kind = kind
        """``device``, ``tmpfs`` or ``folder``."""
        self.why_not = why_not
        self._ballast = place / BALLAST
        self._disk = disk
        self.is_read_only = False
        self._is_full = False
        """Whether it is to be full; the ballast stays longer on a read-only disk."""
        self._begin()

    @property
    def is_failing(self) -> bool:
        return self.is_read_only or self._is_full

    def copy_files(self, prefixes: Collection[str] = ("",)) -> dict[str, bytes]:
        return copy_files(self.path, prefixes)

    def empty(self) -> None:
        """Become empty, durably, on a healthy disk. It must be unused."""
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
        """Its present files, with the page cache; consistent if nobody writes."""
        return self.copy_files()

    def restore(self, image: Image) -> None:
        """Restore an image durably. It must be unused."""
        self.empty()
        for name, data in image.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, 0, data)
        self._sync_folders(self.path)

    def swap(self, other: Store) -> None:
        """Exchange the contents of both, including fullness. Both must be unused."""
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
        """Lose unflushed data while ``end`` ends the store's users; returns the effect.

        ``keep``: the commit log's bytes from ``flushed`` on that stay: ``none``, ``all``, the first ``half``, or all
        but a sector in the middle (``hole``). Other files lose their unflushed data on a device, and nothing elsewhere.
        """
        seen = self.copy_files((LOG,))
        if self._disk is not None:
            # A read-only disk accepts no writes, and refuses the request.
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
        """Restore the log's seen bytes from ``flushed`` on, except for those that ``keep`` drops."""
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
                # Its name was as durable as its contents.
                path.unlink(missing_ok=True)
        self._sync_folders(self.path)

    def fill(self) -> int:
        """Fill the disk; returns the bytes. LabError for a plain folder, Unable on a read-only disk."""
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
            # The ballast survives a power loss.
            self._sync(fd)
        finally:
            os.close(fd)
        self._is_full = True
        return taken

    def free(self) -> None:
        """Release the room that :meth:`fill` took, if any; on a read-only disk later."""
        self._is_full = False
        if not self.is_read_only:
            self._ballast.unlink(missing_ok=True)

    def read_only(self) -> None:
        """Turn read-only, as after a disk's error, even while in use. LabError unless it is a device."""
        self._needs_disk().fail()
        self.is_read_only = True

    def writable(self) -> None:
        """Become writable again; unflushed data is lost. It must be unused."""
        if self.is_read_only:
            self._reboot(self._needs_disk())

    def _reboot(self, disk: Disk) -> None:
        disk.reboot()
        self.is_read_only = False
        if not self._is_full:
            self.free()

    def _write(self, path: Path, at: int, data: bytes) -> None:
        """Write into a possibly new file, durable except for its name."""
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
        # The machine of other stores never loses power.
        if self._disk is not None:
            os.fsync(fd)

    def _needs_disk(self) -> Disk:
        if self._disk is None:
            raise LabError(f"{self.path} is not a device: {self.why_not}")
        return self._disk


def copy_files(store: Path, prefixes: Collection[str]) -> dict[str, bytes]:
    """A store's files whose relative names begin with a prefix, as any process sees them now."""
    found = {}
    for folder, _, names in os.walk(store):
        for each in names:
            path = Path(folder, each)
            name = path.relative_to(store).as_posix()
            # A hidden file is under construction.
            if each[0] != HIDDEN and name.startswith(tuple(prefixes)):
                try:
                    found[name] = path.read_bytes()
                except FileNotFoundError:
                    continue
                except OSError as why:
                    raise LabError(f"cannot read {path}: {why.strerror}") from why
    return found


def _lost(keep: str, lo: int, hi: int) -> tuple[int, int]:
    middle = lo + (hi - lo) // 2
    if keep == "half":
        return middle, hi
    if keep == "hole":
        first = middle - middle % SECTOR
        return max(lo, first), min(hi, first + SECTOR)
    return lo, hi
