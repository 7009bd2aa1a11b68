"""Atomic writing: a file is written under a hidden name in its folder, then renamed.

:func:`put` writes below a folder that may come from an outside user (a run, a report, cases, logs) and never leaves it,
see :func:`inside`. :func:`replace` writes to a path that the user named: a symbolic link stays and its target is
replaced; a device, a pipe or an open descriptor (below /dev or /proc) is opened and written directly.

Both are atomic if the process ends at any instruction. A power loss may take the newest files unless they were synced
(:func:`sync`): a campaign syncs before it commits a chunk; other runs are cheaper to repeat.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import CorruptRun, PairproofError
from ..texts.plain import without_secrets
from . import locations

PATH_OPTION = "--runs"
"""The default option that an error names."""


def inside(folder: Path, name: str) -> Path:
    """The path of ``name`` below ``folder``: plain components with ``/`` between them.

    CorruptRun for a name that leads elsewhere: by an empty component, ``..``, another separator, or a symbolic link.
    ``folder`` itself may be a link: the user named it.
    """
    path = folder
    for each in name.split("/"):
        if each in ("", ".", "..") or "\\" in each or "\0" in each:
            raise CorruptRun(f"{name!r} does not name a file below {folder}; nothing is written there")
        path = path / each
        if not locations.is_remote(path) and path.is_symlink():
            raise CorruptRun(f"{path} is a symbolic link, and nothing is written through one; remove it")
    return path


def put(
    folder: Path, name: str, write: Callable[[Path], object], option: str = PATH_OPTION, keep: bool = False
) -> Path:
    """Let ``write`` fill a hidden file, rename it to ``name`` :func:`inside` ``folder``, and return the path.

    ``keep``: also sync it, and the folders above it. Raises as :func:`inside` and :func:`replace`.
    """
    path = inside(folder, name)
    with _reported(path, option), locations.reached(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _put(path, write, keep)
        if keep:
            _sync_names([path])
    return path


def put_text(folder: Path, name: str, text: str, option: str = PATH_OPTION, keep: bool = False) -> Path:
    """:func:`put` with ``text``, without the passwords of URLs in it."""
    return put(folder, name, lambda hidden: hidden.write_text(without_secrets(text), encoding="utf-8"), option, keep)


def put_json(folder: Path, name: str, data: object, option: str = PATH_OPTION, keep: bool = False) -> Path:
    """:func:`put` with ``data`` as indented JSON."""
    return put_text(folder, name, json.dumps(data, indent=2) + "\n", option, keep)


def sync(paths: Iterable[Path]) -> None:
    """Sync these files, and their names in the two folders above them. Does nothing for URLs."""
    local = [each for each in paths if not locations.is_remote(each)]
    for each in local:
        _sync(each)
    _sync_names(local)


def _sync_names(paths: Iterable[Path]) -> None:
    above = {folder for each in paths if not locations.is_remote(each) for folder in (each.parent, each.parent.parent)}
    for each in sorted(above):
        _sync(each)


def _sync(path: Path) -> None:
    found = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(found)
    finally:
        os.close(found)


def replace(path: Path, write: Callable[[Path], object], option: str = PATH_OPTION) -> Path:
    """Let ``write`` fill a hidden file in the same folder, then rename it to ``path``.

    Raises PairproofError in one line, which names ``option``, if the file cannot be written; ``path`` is unchanged
    then.
    """
    with _reported(path, option), locations.reached(path):
        if locations.is_remote(path):
            _put(path, write)
        elif _is_special(path):
            write(path)
        else:
            _put(Path(os.path.realpath(path)), write)
    return path


@contextlib.contextmanager
def _reported(path: Path, option: str) -> Iterator[None]:
    try:
        yield
    except OSError as why:
        raise PairproofError(
            f"cannot write {path}: {why.strerror or why}; make room or name another path with {option}"
        ) from None


def _put(path: Path, write: Callable[[Path], object], keep: bool = False) -> None:
    # A random name, since two processes may write the same file: an abandoned task, and its second attempt.
    hidden = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        write(hidden)
        if keep and not locations.is_remote(hidden):
            # Before the rename: otherwise the name might be on the disk without the content.
            _sync(hidden)
        locations.move(hidden, path)
    except Exception:
        with contextlib.suppress(Exception):
            hidden.unlink()
        raise


def _is_special(path: Path) -> bool:
    """Whether ``path`` leads to something that a file must not replace."""
    if path.absolute().parts[1:2] in (("dev",), ("proc",)):
        # /dev/fd/3 may lead to an open regular file: the user did not name that file.
        return True
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def write_text(path: Path, text: str, option: str = PATH_OPTION) -> Path:
    """:func:`replace` ``path`` by ``text``, without the passwords of URLs in it."""
    return replace(path, lambda hidden: hidden.write_text(without_secrets(text), encoding="utf-8"), option)


def lock(folder: Path) -> int | None:
    """A descriptor whose lock keeps other processes out of a folder while it is open; None without support for locks.

    BlockingIOError if another process has it.
    """
    found = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(found)
        raise
    except OSError:
        os.close(found)
        return None
    return found
