"""Replaces a report: pages are written into a new folder beside the old one, which gets the old one's name at the end.

Until the new folder is complete, nothing of the old one changes. The next report repairs what a killed process left:
``.NAME.TOKEN.old`` gets its name back if no folder has that name; ``.NAME.TOKEN.new`` is removed unless a living
process holds its lock. Symbolic links are not followed, and only a report's own files are ever removed: a folder that
holds other files, or that cannot be renamed (a mount point, the working directory), is filled name by name instead,
also at the end.

Leaves out: syncing to the disk, and two processes that replace one report at the same moment.
"""

import glob
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..harness.errors import UsageError
from ..harness.runs import atomic

NEW, OLD = ".new", ".old"


def check(out: Path) -> None:
    """UsageError if no report may be put there. Asked before the work begins."""
    if out.is_symlink():
        raise UsageError(f"{out} is a symbolic link, which a report does not follow; name another folder with --out")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; name another folder with --out")
    if (out / "run.json").exists():
        raise UsageError(f"{out} is a run's own folder; name another one with --out, such as {out / 'report'}")


@contextmanager
def replaced(out: Path, own: Collection[str]) -> Iterator[Path]:
    """A new folder to write a report into, which is at ``out`` when the ``with`` block has ended without an exception.

    ``own``: all names that a report may have there.
    """
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    _recover(out)
    stays = _stays(out, own)
    new = _beside(out / out.name if stays else out, NEW)
    new.mkdir()
    lock = atomic.lock(new)
    try:
        yield new
        if stays:
            _fill(out, new, own)
        else:
            _swap(out, new)
    finally:
        _remove(new)
        if lock is not None:
            os.close(lock)


def _beside(out: Path, ending: str) -> Path:
    return out.with_name(f".{out.name}.{secrets.token_hex(4)}{ending}")


def _stays(out: Path, own: Collection[str]) -> bool:
    if not out.is_dir():
        return False
    held = Path.cwd().is_relative_to(out) or out.is_mount() or not os.access(out.parent, os.W_OK)
    return held or any(each.name not in own for each in out.iterdir())


def _swap(out: Path, new: Path) -> None:
    if not out.exists():
        new.rename(out)
        return
    shutil.copymode(out, new)
    old = _beside(out, OLD)
    try:
        out.rename(old)
        new.rename(out)
    except BaseException:
        if old.exists() and not out.exists():
            old.rename(out)
        raise
    _remove(old)


def _fill(out: Path, new: Path, own: Collection[str]) -> None:
    names = [each.name for each in new.iterdir()]
    for name in own:
        # A file is renamed over an older one.
        if name not in names or (new / name).is_dir():
            _remove(out / name)
    for name in names:
        (new / name).replace(out / name)


def _recover(out: Path) -> None:
    for old in _left(out.parent, out, OLD):
        if out.exists():
            _remove(old)
        else:
            old.rename(out)
    for new in (*_left(out.parent, out, NEW), *_left(out, out, NEW)):
        with suppress(BlockingIOError):
            lock = atomic.lock(new)
            _remove(new)
            if lock is not None:
                os.close(lock)


def _left(folder: Path, out: Path, ending: str) -> list[Path]:
    found = folder.glob(f".{glob.escape(out.name)}.*{ending}")
    return [each for each in found if each.is_dir() and not each.is_symlink()]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
