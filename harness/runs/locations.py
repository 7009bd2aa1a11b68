"""Where run folders are: a path of this machine, or an object store's or another file system's URL (s3a://bucket/runs).

What a URL names is universal_pathlib's: a path with pathlib's methods on any file system that fsspec knows (s3, s3a,
gs, abfs, hdfs, ...). The user installs the package that it needs (s3fs, gcsfs, adlfs), which finds keys and endpoints.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import click

from ..errors import PairproofError, UsageError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

FRESH = {"use_listings_cache": False}
"""Others write to the same folders: what was listed once says nothing of now."""
FORGETFUL = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az")
"""Object stores whose file systems take :data:`FRESH`."""


def place(text: str) -> Path:
    """The path that ``text`` names; UsageError for a URL of a file system that cannot be used here."""
    if not _URL.match(text):
        return Path(text)
    scheme = text.partition("://")[0].lower()
    if scheme in ("file", "local"):
        return Path(text.partition("://")[2])
    # Imported only where it is used.
    from upath import UPath

    try:
        options: dict[str, Any] = FRESH if scheme in FORGETFUL else {}
        found = UPath(text, protocol=None, **options)
        # Some packages are asked for only here.
        _ = found.fs
    except (ImportError, ValueError) as why:
        raise UsageError(f"{text} cannot be used: {' '.join(str(why).split())[:160]}") from None
    return cast("Path", found)


def is_remote(path: Path) -> bool:
    """Whether it is not one of this machine's files."""
    return not isinstance(path, Path)


def read_bytes(path: Path, at_most: int) -> bytes:
    """All bytes of a file that may come from a stranger. ValueError if there are more, or if it is a device or a pipe,
    which may have no end; OSError if it cannot be read."""
    if is_remote(path):
        with reached(path), path.open("rb") as file:
            found = file.read(at_most + 1)
    else:
        with regular(path) as file:
            found = file.read(at_most + 1)
    if len(found) > at_most:
        raise ValueError(f"more than {at_most:,} bytes")
    return found


@contextlib.contextmanager
def regular(path: Path) -> Iterator[BinaryIO]:
    """A file of this machine, opened to be read; ValueError if it is a device or a pipe. No pipe is waited for."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a file")
        yield file


def move(path: Path, over: Path) -> None:
    """Give a file the name ``over``, whether there is such a file or not."""
    if not is_remote(path):
        path.replace(over)
        return
    remote: Any = path
    remote.fs.mv(remote.path, cast("Any", over).path)


@contextlib.contextmanager
def reached(path: Path, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Around what is done at ``path``: what a remote file system raises, which may be anything, is a PairproofError.

    OSError stays what it is, and so does ``but``, which says something of the file.
    """
    try:
        yield
    except Exception as why:
        if isinstance(why, (OSError, PairproofError, *but)) or not is_remote(path):
            raise
        told = " ".join(str(why).split())[:200] or type(why).__name__
        raise PairproofError(f"{path} cannot be reached ({told}); look at its address, keys and endpoint") from None


class Place(click.ParamType[Path]):
    """An option or argument that names one."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return place(value) if isinstance(value, str) else cast("Path", value)
