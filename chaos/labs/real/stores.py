"""Stores of brokers that can lose power, be full and turn read-only: each on a small disk of its own.

Where it can be had (root, mkfs.ext4, loop devices), a store lies on an ext4 file system in an image file: kind
``device``. A power loss then is one: the file system is shut down (EXT4_IOC_SHUTDOWN, nothing more is written, not even
the journal), and after the broker's end it is mounted anew, as at a boot: what was flushed is there, of memory-mapped
files too, and what was not is gone, as far as the kernel had not written it out by itself, which it does now and then.
``half`` and ``hole``, which no kernel does on request, are put in place afterwards. A full disk has a file that takes
all room; a read-only one is what ext4 becomes after an error: mapped files still take writes, and no flush works.

Elsewhere a store is a plain folder, kind ``folder``; ``why_folder`` says why. A power loss then takes from the commit
log what its broker had not flushed, and nothing else; a disk cannot be full or read-only.

The image is mounted without barriers: flushes end in the image, whose own disk does not fail here. All calls block, for
some ten milliseconds where something is mounted. Nothing of a store may be in use where that is said.
Sources: ext4's documentation of its ioctls and of /sys/fs/ext4; the files are MappedFileQueue's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from struct import Struct

from pairproof.chaos.labs.real.folders import command
from pairproof.harness.errors import LabError

SIZE_MB = 64
OPTIONS = "loop,nobarrier,errors=remount-ro,noatime,nodev,nosuid"
KEEPS = ("none", "all", "half", "hole")
SECTOR = 512
LOG = "commitlog/"
BALLAST = "ballast"
PROBE = ".probe"
LEAST_BYTES = 1_024
"""One block: less cannot be taken."""
HIDDEN = "."
TRIES = 40
PAUSE_S = 0.025
_SHUTDOWN = 0x8004587D
_FLUSH_FIRST, _NO_LOG_FLUSH = 0, 2
_INT = Struct("=I")

Image = Mapping[str, bytes]
"""Files by name, as of one moment."""


class Stores:
    """The stores of one lab, in its folder: whoever removes that removes them."""

    def __init__(self, folder: Path, size_mb: int = SIZE_MB, devices: bool = True) -> None:
        self.folder = folder / "stores"
        self.folder.mkdir()
        self.size_mb = size_mb
        self.why_folder = "" if devices else "the lab was told to have plain folders"

    def share(self) -> bool:
        """Let others who have this folder see what is mounted in it later; whether that can be had."""
        folder = str(self.folder)
        is_shared = command("mount", "--bind", folder, folder, fails=False)
        is_shared = is_shared and command("mount", "--make-shared", folder, fails=False)
        if not is_shared:
            self.why_folder = self.why_folder or "only root can mount a disk that containers see"
        return is_shared

    def create(self, node: str) -> Store:
        """A new, empty store."""
        place = self.folder / node
        needs_mb = self.size_mb * (1 + sum(each.is_dir() for each in self.folder.iterdir()))
        has_mb = shutil.disk_usage(self.folder).free >> 20
        if has_mb < needs_mb:
            raise LabError(f"{self.folder} has {has_mb} MB left of {needs_mb}: make room, or set TMPDIR elsewhere")
        place.mkdir()
        if not self.why_folder:
            try:
                disk = Disk(self.folder / f"{node}.img", place, self.size_mb)
            except LabError as why:
                self.why_folder = str(why)
            else:
                return Store(place, disk, "")
        return Store(place, None, self.why_folder)


class Disk:
    """A file system in an image file, mounted."""

    def __init__(self, image: Path, mount: Path, size_mb: int) -> None:
        """LabError if this machine has no such thing."""
        if os.geteuid() != 0:
            raise LabError("only root can mount a disk")
        self.image = image
        self.mount = mount
        self.size_mb = size_mb
        self._make()
        self._mount()

    def shut_down(self, flushed: bool) -> None:
        """From here on nothing reaches the disk; before, everything or nothing of what waits for it."""
        fd = os.open(self.mount, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, _INT.pack(_FLUSH_FIRST if flushed else _NO_LOG_FLUSH))
        except OSError as why:
            raise LabError(f"cannot take the power from {self.mount}: {why.strerror}") from why
        finally:
            os.close(fd)

    def reboot(self) -> None:
        """Mount it anew. Nobody may use it."""
        self._unmount()
        self._mount()

    def renew(self) -> None:
        """Another one in its place, without errors, that holds nothing. Nobody may use it."""
        self._unmount()
        self._make()
        self._mount()

    def fail(self) -> None:
        """Let the file system meet an error, upon which it turns read-only."""
        found = self.mount.stat().st_dev
        device = Path(f"/sys/dev/block/{os.major(found)}:{os.minor(found)}").resolve().name
        try:
            Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")
        except OSError as why:
            raise LabError(f"cannot turn {self.mount} read-only: {why.strerror}") from why

    def swap(self, other: Disk) -> None:
        """Exchange what both hold. Nobody may use either."""
        self._unmount()
        other._unmount()
        _exchange(self.image, other.image)
        self._mount()
        other._mount()

    def _make(self) -> None:
        # A new file: somebody may still have the old one mounted.
        self.image.unlink(missing_ok=True)
        # Zeros throughout: of an earlier file system's journal blocks might pass for this one's.
        with self.image.open("wb") as file:
            file.truncate(self.size_mb << 20)
        command(
            "mkfs.ext4", "-q", "-F", "-b", str(LEAST_BYTES), "-m", "0", "-J", "size=1", "-O", "^resize_inode",
            "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", str(self.image),
        )  # fmt: skip

    def _mount(self) -> None:
        command("mount", "-t", "ext4", "-o", OPTIONS, str(self.image), str(self.mount))
        if self._is_dead():
            # Another mount namespace, a browser's sandbox say, still has what was shut down, and that is what we got.
            self._unmount()
            self._copy_image()
            command("mount", "-t", "ext4", "-o", OPTIONS, str(self.image), str(self.mount))
            if self._is_dead():
                raise LabError(f"{self.mount} cannot be mounted anew: who else has it mounted?")

    def _is_dead(self) -> bool:
        """Whether what is mounted takes no files: a file system that was shut down, or met an error."""
        probe = self.mount / PROBE
        try:
            probe.touch()
            probe.unlink()
        except OSError as why:
            if why.errno in (errno.EIO, errno.EROFS):
                return True
            raise LabError(f"cannot use {self.mount}: {why.strerror}") from why
        return False

    def _copy_image(self) -> None:
        """What the disk holds becomes another file, of which nobody has an older view."""
        copy = self.image.with_suffix(".copy")
        command("cp", "--sparse=always", str(self.image), str(copy))
        copy.rename(self.image)

    def _unmount(self) -> None:
        for _ in range(TRIES):
            if command("umount", str(self.mount), fails=False):
                return
            # A process that was killed may still be giving back its memory.
            time.sleep(PAUSE_S)
        command("umount", str(self.mount))


class Store:
    """One broker's store directory, ``path``, which stays the same whatever happens to it."""

    def __init__(self, place: Path, disk: Disk | None, why_folder: str) -> None:
        self.path = place / "store"
        self.why_folder = why_folder
        self._ballast = place / BALLAST
        self._disk = disk
        self._is_read_only = False
        self._begin()

    @property
    def kind(self) -> str:
        """``device`` or ``folder``."""
        return "folder" if self._disk is None else "device"

    def copy_files(self, prefixes: Collection[str] = ("",)) -> dict[str, bytes]:
        """See :func:`copy_files`."""
        return copy_files(self.path, prefixes)

    def empty(self) -> None:
        """Hold nothing, durably, on a healthy disk. Nobody may use it."""
        if self._disk is not None and self._is_read_only:
            self._disk.renew()
            self._is_read_only = False
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
        """Exchange what both hold. Nobody may use either."""
        if self._disk is not None and other._disk is not None:
            self._disk.swap(other._disk)
            self._is_read_only = other._is_read_only = False
        elif self._disk is None and other._disk is None:
            _exchange(self.path, other.path)
        else:
            mine, its = self.image(), other.image()
            self.restore(its)
            other.restore(mine)

    def lose_power(self, keep: str, flushed: int, end: Callable[[], None]) -> dict[str, int]:
        """Lose what was not flushed, while ``end`` ends whoever uses it; what was done.

        ``keep``: of the commit log's bytes from ``flushed`` on ``none`` is kept, ``all``, the first ``half``, or all
        but a sector in the middle (``hole``). Everything else goes as it was flushed; in a plain folder nothing else.
        """
        seen = self.copy_files((LOG,))
        if self._disk is not None:
            self._disk.shut_down(flushed=keep == "all")
            end()
            self._disk.reboot()
            self._is_read_only = False
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
        """Take all room there is; bytes taken. LabError for a plain folder."""
        self._needs_disk()
        taken = 0
        fd = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            room = os.statvfs(self.path)
            piece = room.f_bavail * room.f_frsize
            while piece >= LEAST_BYTES:
                try:
                    os.posix_fallocate(fd, taken, piece)
                    taken += piece
                except OSError as why:
                    if why.errno != errno.ENOSPC:
                        raise LabError(f"cannot fill {self.path}: {why.strerror}") from why
                    piece //= 2
        finally:
            os.close(fd)
        return taken

    def free(self) -> None:
        """Give back the room that :meth:`fill` took, if it is still taken."""
        self._ballast.unlink(missing_ok=True)

    def read_only(self) -> None:
        """Turn read-only, as after a disk's error, also while it is used. LabError for a plain folder."""
        self._needs_disk().fail()
        self._is_read_only = True

    def writable(self) -> None:
        """Take writes again, if it does not; what was not flushed is gone then. Nobody may use it."""
        if self._is_read_only:
            self._needs_disk().reboot()
            self._is_read_only = False

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
        # A plain folder's machine never loses power.
        if self._disk is not None:
            os.fsync(fd)

    def _needs_disk(self) -> Disk:
        if self._disk is None:
            raise LabError(f"{self.path} is a plain folder: {self.why_folder}")
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


def _exchange(one: Path, other: Path) -> None:
    aside = one.with_name(one.name + ".aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
