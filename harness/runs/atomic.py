"""Files that appear whole or not at all: written beside their place under a hidden name, then renamed over it.

Holds against the end of the process at any instruction. A machine that loses power may still lose the newest files:
nothing is synced to the disk, since a recorded run is cheaper to repeat than an fsync per part is to pay for.

Nothing but a regular file is ever renamed over: a symbolic link stays and what it points to is replaced, and a device,
a pipe or an open descriptor (below /dev or /proc) is opened and written as it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from pairproof.harness.errors import PairproofError
from pairproof.harness.plain import without_secrets
from pairproof.harness.runs import places

PLACE_OPTION = "--runs"
"""Where run folders go: the option that an error names unless it is told another one."""


def replace(path: Path, write: Callable[[Path], object], option: str = PLACE_OPTION) -> Path:
    """Let ``write`` fill a hidden file in the same folder, then give it the name ``path``.

    Raises PairproofError in one line, which names ``option``, if the file cannot be written; what ``path`` held before
    is still there then.
    """
    try:
        with places.reached(path):
            if places.is_remote(path):
                _put(path, write)
            elif _is_special(path):
                write(path)
            else:
                _put(Path(os.path.realpath(path)), write)
    except OSError as why:
        raise PairproofError(
            f"cannot write {path}: {why.strerror or why}; make room or name another place with {option}"
        ) from None
    return path


def _put(place: Path, write: Callable[[Path], object]) -> None:
    # Its own, since two processes may write the same: a task that was given up, and its second attempt.
    hidden = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
    try:
        write(hidden)
        places.move(hidden, place)
    except Exception:
        with contextlib.suppress(Exception):
            hidden.unlink()
        raise


def _is_special(path: Path) -> bool:
    """Whether ``path`` leads to something that would be lost, or never reached, if a file took its place."""
    if path.absolute().parts[1:2] in (("dev",), ("proc",)):
        # /dev/fd/3 may lead to a regular file that somebody holds open: its name is not what was asked for.
        return True
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def write_text(path: Path, text: str, option: str = PLACE_OPTION) -> Path:
    """Put ``text`` at ``path``, without the passwords of URLs in it."""
    return replace(path, lambda hidden: hidden.write_text(without_secrets(text), encoding="utf-8"), option)


def lock(folder: Path) -> int | None:
    """A descriptor whose lock keeps other processes away from a folder while it is open; None where there are no locks.

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


def write_json(path: Path, data: object) -> Path:
    """Put ``data`` at ``path`` as indented JSON."""
    return write_text(path, json.dumps(data, indent=2) + "\n")
