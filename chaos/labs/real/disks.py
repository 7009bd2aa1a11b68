"""Disks of stores: ext4 on a loop device, and where that cannot be had a piece of memory.

A :class:`Disk` can lose power, fail, and change places with another; a :class:`Ram` has only a size. Both are mounted
at a place of the lab's folder, need root, and block for some ten milliseconds. LabError for whatever goes wrong.
Sources: ext4's documentation of its ioctls and of /sys/fs/ext4; the kernel's of tmpfs.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path
from struct import Struct

from ....harness.errors import LabError
from .folders import command

SAFE = "noatime,nodev,nosuid"
OPTIONS = f"loop,nobarrier,errors=remount-ro,{SAFE}"
PROBE = ".probe"
BLOCK = 1_024
TRIES = 40
PAUSE_S = 0.025
_SHUTDOWN = 0x8004587D
_FLUSH_FIRST, _NO_LOG_FLUSH = 0, 2
_INT = Struct("=I")


class Disk:
    """A file system in an image file, mounted."""

    def __init__(self, image: Path, mount: Path, size_mb: int) -> None:
        """LabError if this machine has no such thing."""
        _needs_root()
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
            raise LabError(f"cannot cut the power of {self.mount}: {why.strerror}") from why
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
        exchange(self.image, other.image)
        self._mount()
        other._mount()

    def _make(self) -> None:
        # A new file: somebody may still have the old one mounted.
        self.image.unlink(missing_ok=True)
        # Zeros throughout: of an earlier file system's journal blocks might pass for this one's.
        with self.image.open("wb") as file:
            file.truncate(self.size_mb << 20)
        command(
            "mkfs.ext4", "-q", "-F", "-b", str(BLOCK), "-m", "0", "-J", "size=1", "-O", "^resize_inode",
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
                raise LabError(f"{self.mount} cannot be mounted again: is it mounted elsewhere, too?")

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


class Ram:
    """A tmpfs, mounted: so large and no larger. Its machine's power loss is played by whoever uses it."""

    def __init__(self, mount: Path, size_mb: int) -> None:
        _needs_root()
        command("mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=0700,{SAFE}", "tmpfs", str(mount))


def exchange(one: Path, other: Path) -> None:
    """What is at one path gets to the other. Both are of one file system."""
    aside = one.with_name(one.name + ".aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _needs_root() -> None:
    if os.geteuid() != 0:
        raise LabError("only root can mount a disk")
