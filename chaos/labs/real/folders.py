"""Where labs keep their files, and how nothing of them stays.

Every lab has a folder ``lab-…`` of its own in one folder of this user below the system's one for temporary files. All
that a lab makes lies in there: files, mounts, the images of loop devices. So whoever removes the folder finds
everything without being told. The lab's keeper holds a lock on it (flock on the folder itself) as long as it lives, and
removes it at its end. :func:`clean` removes those of keepers that could not; so does the start of the next lab, where
the harness is gone, too, whose process id the name has. Nothing here waits for longer than ``LIMIT_S`` for one
command.
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
    """This user's folder of labs; it is made if it is not there. LabError if it is somebody else's."""
    path = Path(tempfile.gettempdir()) / f"pairproof-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise LabError(f"{path} is not a folder of this user: remove it, or set TMPDIR to another folder")
    return path


def new_folder() -> tuple[Path, int]:
    """A new lab's folder, and a descriptor whose lock says that the lab lives: as long as any copy of it is open."""
    with _alone():
        for path in _left():
            # A harness that lives may still read what its lab has said, though the keeper is gone.
            if not Path("/proc", path.name.split("-")[1]).exists():
                with contextlib.suppress(LabError):
                    remove(path)
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base()))
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return path, lock


def clean() -> list[str]:
    """Remove what labs have left behind whose keepers are gone; a line for each, also for one that cannot be."""
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
                said.append(f"removed what an earlier lab left behind: {path}{more}")
    return said


def _left() -> list[Path]:
    """Folders of labs whose keepers are gone."""
    return [path for path in sorted(base().glob(PREFIX + "*")) if not _is_held(path)]


def is_alive(path: Path) -> bool:
    """Whether a lab's keeper lives, by its folder. Another user's, who alone may look, counts as alive."""
    try:
        path.lstat()
        return _is_held(path)
    except FileNotFoundError:
        return False
    except PermissionError:
        return True


def _is_held(path: Path) -> bool:
    """Whether a keeper has this lab, or has just removed it."""
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
    """Unmount what is mounted below the folder, give back its loop devices, delete it; LabError if that fails."""
    for mount in reversed(mounts_below(folder)):
        _unmount(mount)
    for device in _loop_devices_below(folder):
        # A device that goes by itself, now that nothing is mounted, may be gone already.
        command("losetup", "-d", str(device), fails=False)
    if mounts_below(folder):
        raise LabError(f"{folder}: something is still mounted there; unmount it, then delete the folder")
    try:
        shutil.rmtree(folder)
    except OSError as why:
        # Somebody else may have cleaned up.
        if folder.exists():
            raise LabError(f"cannot delete {folder}: {why.strerror}; delete it") from why


def command(*argv: str, fails: bool = True, limit_s: float = LIMIT_S) -> bool:
    """Run a command of the system; whether it worked. LabError with its first line if not, if ``fails``."""
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
    """What is mounted below the folder, outermost and oldest first."""
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
        # Whoever had files open there may only just be ending.
        time.sleep(PAUSE_S)
    command("umount", "-l", str(mount))


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """No other process makes or cleans labs meanwhile: a folder is there a moment before its lock."""
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
