"""Replaces a report: pages are written into a new hidden folder, and renamed at the end.

Until the new folder is complete, the old report is unchanged. Then files are renamed over those of the same name, and
only a report's own names are ever removed: other files and the folder stay. A killed process leaves
``.NAME.TOKEN.new``, which the next report removes unless a running process holds its lock. Symbolic links are not
followed.

Left out: syncing to the disk, two processes that replace one report at the same time, and a kill between two renames:
old and new pages are mixed until the next report.
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

NEW = ".new"


def check(out: Path) -> None:
    """UsageError if no report may be put there. Called before the work begins."""
    if out.is_symlink():
        raise UsageError(f"{out} is a symbolic link, which a report does not follow; name another folder with --out")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; name another folder with --out")
    if (out / "run.json").exists():
        raise UsageError(f"{out} is a run's own folder; name another one with --out, such as {out / 'report'}")


@contextmanager
def replaced(out: Path, own: Collection[str]) -> Iterator[Path]:
    """A new folder for a report, which replaces ``out`` when the ``with`` block ends without an exception.

    ``own``: all names that a report may have there.
    """
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    is_there = out.is_dir()
    parent = out if is_there else out.parent
    _tidy(parent, out)
    new = parent / f".{out.name}.{secrets.token_hex(4)}{NEW}"
    new.mkdir()
    lock = atomic.lock(new)
    try:
        yield new
        if is_there:
            _fill(out, new, own)
        else:
            new.rename(out)
    finally:
        _remove(new)
        if lock is not None:
            os.close(lock)


def _fill(out: Path, new: Path, own: Collection[str]) -> None:
    names = [each.name for each in new.iterdir()]
    for name in own:
        # A file is renamed over an older one.
        if name not in names or (new / name).is_dir():
            _remove(out / name)
    for name in names:
        (new / name).replace(out / name)


def _tidy(parent: Path, out: Path) -> None:
    for each in parent.glob(f".{glob.escape(out.name)}.*{NEW}"):
        with suppress(BlockingIOError, NotADirectoryError):
            lock = atomic.lock(each)
            _remove(each)
            if lock is not None:
                os.close(lock)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
