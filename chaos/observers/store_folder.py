"""A commit log on disk: finds its files, maps them, and reports an invalid folder in one line.

Files are memory-mapped, so memory stays bounded regardless of their size. A folder that no broker can have written
(names that are not offsets, symbolic links, folders among the files) is a usage error; unequal sizes and gaps are
damage, which the walk over the log reports. The store must not change.

Layout: MappedFileQueue and StorePathConfigHelper of RocketMQ 4.9 (``commitlog/`` and names of 20 digits).
"""

from mmap import ACCESS_READ, mmap
from pathlib import Path

from ...harness.errors import UsageError
from .store_reader import LogFile

MAX_FILES = 65_536
NAME_DIGITS = 20
OF_A_STORE = ("checkpoint", "config", "consumequeue", "index", "lock", "abort")
"""Neighbours of the commit log in a store."""


def commit_log_folder(path: Path) -> Path:
    """The commit log folder of a store, or the folder itself if it is one."""
    if not path.is_dir():
        what = "not a folder" if path.exists() else "no such folder"
        raise UsageError(f"{path}: {what}; give a store folder, or its commitlog folder")
    inner = path / "commitlog"
    if not inner.is_dir() and any((path / name).exists() for name in OF_A_STORE):
        raise UsageError(f"{path}: a store without a commitlog folder: this broker has stored no message yet")
    return inner if inner.is_dir() else path


def open_log(path: Path) -> list[LogFile]:
    """The files of a store's commit log, in order, mapped read-only. UsageError if it is not a commit log."""
    folder = commit_log_folder(path)
    try:
        entries = sorted(folder.iterdir())
    except OSError as why:
        raise UsageError(f"{folder}: {why.strerror or why}") from None
    if not entries:
        raise UsageError(f"{folder}: holds no commit log files")
    if len(entries) > MAX_FILES:
        raise UsageError(f"{folder}: {len(entries)} files are more than the limit of {MAX_FILES}")
    return [(_start_of(each), _map(each)) for each in entries]


def file_name(start: int) -> str:
    """The name of the file that starts at physical offset ``start``."""
    return f"{start:0{NAME_DIGITS}d}"


def _start_of(path: Path) -> int:
    name = path.name
    if path.is_symlink():
        raise UsageError(f"{path}: a symbolic link; give a copy of the store that holds the file itself")
    if not path.is_file():
        raise UsageError(f"{path}: not a file; a commit log folder holds nothing but its files")
    if len(name) != NAME_DIGITS or not (name.isascii() and name.isdigit()) or int(name) >= 1 << 63:
        raise UsageError(
            f"{path}: not the name of a commit log file, which is its start offset in {NAME_DIGITS} digits"
        )
    return int(name)


def _map(path: Path) -> bytes | mmap:
    try:
        with path.open("rb") as file:
            # An empty file cannot be mapped.
            return mmap(file.fileno(), 0, access=ACCESS_READ) if path.stat().st_size else b""
    except OSError as why:
        raise UsageError(f"{path}: {why.strerror or why}; is it readable?") from None
