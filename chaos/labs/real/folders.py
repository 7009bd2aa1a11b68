"""Folders of labs and their complete removal.

Every lab has its own folder ``lab-…`` in this user's folder below the system's temporary folder. It contains everything
that a lab makes: files, mounts, the images of loop devices. So removing the folder finds everything. The lab's
supervisor holds a lock (flock on the folder itself) while it runs, and removes the folder at its end. :func:`clean`
removes the folders of killed supervisors; so does the start of the next lab, if the harness, whose process id is in the
name, has ended too. No command takes longer than ``LIMIT_S``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ....harness.errors import LabError

PREFIX = "lab-"
LIMIT_S = 10.0
TRIES = 20
PAUSE_S = 0.05
_ESCAPED = re.compile(r"\\([0-7]{3})")


def base() -> Path:
    """This user's folder of labs, created if missing. LabError if another user owns it."""
    path = Path(tempfile.gettempdir()) / f"pairproof-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise LabError(f"{path} is not a folder of this user: remove it, or set TMPDIR to another folder")
    return path


def new_folder() -> tuple[Path, int]:
    """A new lab's folder, and a descriptor whose lock marks the lab as running until its last copy is closed."""
    with _alone():
        for path in _left():
            # A running harness may still read its lab's output after the supervisor's end.
            if not Path("/proc", path.name.split("-")[1]).exists():
                with contextlib.suppress(LabError):
                    remove(path)
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base()))
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return path, lock


def clean() -> list[str]:
    """Remove the folders of ended supervisors; returns a line for each, including failures."""
    said = []
    with _alone():
        for path in _left():
            mounts = len(mounts_below(path))
            try:
                remove(path)
            except LabError as why:
                said.append(str(why))
            else:
                more = f", {mounts} mounts" if mounts else ""
                said.append(f"removed the remains of an earlier lab: {path}{more}")
    return said


def _left() -> list[Path]:
    return [path for path in sorted(base().glob(PREFIX + "*")) if not _is_held(path)]


def is_alive(path: Path) -> bool:
    """Whether the lab of this folder runs. Another user's folder, which only its owner can check, counts as running."""
    try:
        path.lstat()
        return _is_held(path)
    except FileNotFoundError:
        return False
    except PermissionError:
        return True


def _is_held(path: Path) -> bool:
    """Whether a supervisor holds this lab, or has just removed it."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def remove(folder: Path) -> None:
    """Unmount below the folder, release its loop devices, delete it; LabError if that fails."""
    for mount in reversed(mounts_below(folder)):
        _unmount(mount)
    for device in _loop_devices_below(folder):
        # With nothing mounted, an auto-clear device may have gone already.
        command("losetup", "-d", str(device), fails=False)
    if mounts_below(folder):
        raise LabError(f"{folder}: something is still mounted there; unmount it, then delete the folder")
    try:
        shutil.rmtree(folder)
    except OSError as why:
        # Another process may have removed it.
        if folder.exists():
            raise LabError(f"cannot delete {folder}: {why.strerror}; delete it") from why


def command(*argv: str, fails: bool = True, limit_s: float = LIMIT_S) -> bool:
    """Run a system command; returns whether it succeeded. If ``fails``, LabError with its first line instead."""
    try:
        done = subprocess.run(argv, capture_output=True, timeout=limit_s, text=True, errors="replace", check=False)
    except (OSError, subprocess.TimeoutExpired) as why:
        if not fails:
            return False
        said = f"not within {limit_s:g} s" if isinstance(why, subprocess.TimeoutExpired) else str(why.strerror)
        raise LabError(f"{' '.join(argv)}: {said}") from None
    if done.returncode and fails:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise LabError(f"{' '.join(argv)}: {lines[0]}")
    return done.returncode == 0


def mounts_below(folder: Path) -> list[Path]:
    """Mounts below the folder, outermost and oldest first."""
    found = []
    with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            path = Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), line.split(" ")[4]))
            if path != folder and path.is_relative_to(folder):
                found.append(path)
    return found


def _loop_devices_below(folder: Path) -> list[Path]:
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if Path(path.read_text().rstrip("\n")).is_relative_to(folder):
                found.append(Path("/dev") / path.parent.parent.name)
    return found


def _unmount(mount: Path) -> None:
    for _ in range(TRIES):
        if command("umount", str(mount), fails=False):
            return
        # The last user of open files may be ending.
        time.sleep(PAUSE_S)
    command("umount", "-l", str(mount))


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Exclude other processes that make or clean labs: a folder exists shortly before its lock."""
    lock = os.open(base(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        ends = time.monotonic() + 2 * LIMIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > ends:
                    raise LabError(f"another lab has been busy in {base()} for {2 * LIMIT_S:g} s") from None
                time.sleep(PAUSE_S)
        yield
    finally:
        os.close(lock)
