"""Disks of stores: ext4 on a loop device, or a tmpfs where loop devices are unavailable.

A :class:`Disk` can lose power, fail, and be swapped with another; a :class:`Ram` only has a size. Both are mounted in
the lab's folder, need root, and block for some ten milliseconds. LabError for any failure. Sources: ext4's
documentation of its ioctls and of /sys/fs/ext4; the kernel's of tmpfs.
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
    """A mounted file system in an image file."""

    def __init__(self, image: Path, mount: Path, size_mb: int) -> None:
        """LabError if this machine does not support it."""
        _needs_root()
        self.image = image
        self.mount = mount
        self.size_mb = size_mb
        self._make()
        self._mount()

    def shut_down(self, flushed: bool) -> None:
        """Stop all writes to the disk; pending data reaches it before, if ``flushed``, or is lost."""
        fd = os.open(self.mount, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, _INT.pack(_FLUSH_FIRST if flushed else _NO_LOG_FLUSH))
        except OSError as why:
            raise LabError(f"cannot cut the power of {self.mount}: {why.strerror}") from why
        finally:
            os.close(fd)

    def reboot(self) -> None:
        """Mount it again. It must not be in use."""
        self._unmount()
        self._mount()

    def renew(self) -> None:
        """Replace it by an empty disk without errors. It must not be in use."""
        self._unmount()
        self._make()
        self._mount()

    def fail(self) -> None:
        found = self.mount.stat().st_dev
        device = Path(f"/sys/dev/block/{os.major(found)}:{os.minor(found)}").resolve().name
        try:
            Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")
        except OSError as why:
            raise LabError(f"cannot turn {self.mount} read-only: {why.strerror}") from why

    def swap(self, other: Disk) -> None:
        """Exchange the contents of both. Neither may be in use."""
        self._unmount()
        other._unmount()
        exchange(self.image, other.image)
        self._mount()
        other._mount()

    def _make(self) -> None:
        # A new file: another process may still have the old one mounted.
        self.image.unlink(missing_ok=True)
        # Zeros throughout: journal blocks of an earlier file system could be mistaken for this one's.
        with self.image.open("wb") as file:
            file.truncate(self.size_mb << 20)
        command(
            "mkfs.ext4", "-q", "-F", "-b", str(BLOCK), "-m", "0", "-J", "size=1", "-O", "^resize_inode",
            "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", str(self.image),
        )  # fmt: skip

    def _mount(self) -> None:
        command("mount", "-t", "ext4", "-o", OPTIONS, str(self.image), str(self.mount))
        if self._is_dead():
            # Another mount namespace (such as a browser's sandbox) still has the old mount, and this one joined it.
            self._unmount()
            self._copy_image()
            command("mount", "-t", "ext4", "-o", OPTIONS, str(self.image), str(self.mount))
            if self._is_dead():
                raise LabError(f"{self.mount} cannot be mounted again: is it mounted elsewhere, too?")

    def _is_dead(self) -> bool:
        """Whether the mount accepts no files: a file system that was shut down, or met an error."""
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
        """Copy the disk into a new file, of which no process has an older view."""
        copy = self.image.with_suffix(".copy")
        command("cp", "--sparse=always", str(self.image), str(copy))
        copy.rename(self.image)

    def _unmount(self) -> None:
        for _ in range(TRIES):
            if command("umount", str(self.mount), fails=False):
                return
            # A killed process may still be releasing its memory.
            time.sleep(PAUSE_S)
        command("umount", str(self.mount))


class Ram:
    """A tmpfs of fixed size. Its users simulate a power loss of its machine."""

    def __init__(self, mount: Path, size_mb: int) -> None:
        _needs_root()
        command("mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=0700,{SAFE}", "tmpfs", str(mount))


def exchange(one: Path, other: Path) -> None:
    """Swap the entries at two paths of one file system."""
    aside = one.with_name(one.name + ".aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _needs_root() -> None:
    if os.geteuid() != 0:
        raise LabError("only root can mount a disk")
