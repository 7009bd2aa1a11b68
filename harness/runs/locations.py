"""Locations of run folders: a local path, or a URL of an object store or another file system (s3a://bucket/runs).

URLs become universal_pathlib's paths: pathlib's methods on any file system that fsspec supports (s3, s3a, gs, abfs,
hdfs, ...). The user installs the package for it (s3fs, gcsfs, adlfs), which finds keys and endpoints.
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
"""Other processes write to the same folders, so listings must not be cached."""
FORGETFUL = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az")
"""Object stores whose file systems accept :data:`FRESH`."""


def place(text: str) -> Path:
    """The path of ``text``; UsageError for a URL of a file system that cannot be used here."""
    if not _URL.match(text):
        return Path(text)
    scheme = text.partition("://")[0].lower()
    if scheme in ("file", "local"):
        return Path(text.partition("://")[2])
    # Imported only if needed.
    from upath import UPath

    try:
        options: dict[str, Any] = FRESH if scheme in FORGETFUL else {}
        found = UPath(text, protocol=None, **options)
        # Some packages are imported only here.
        _ = found.fs
    except (ImportError, ValueError) as why:
        raise UsageError(f"{text} cannot be used: {' '.join(str(why).split())[:160]}") from None
    return cast("Path", found)


def is_remote(path: Path) -> bool:
    """Whether it is not a file of this machine."""
    return not isinstance(path, Path)


def read_bytes(path: Path, at_most: int) -> bytes:
    """All bytes of a file that may come from an outside user. ValueError if there are more, or if it is a device or a
    pipe, which may have no end; OSError if it cannot be read.
    """
    with opened(path) as file:
        found = file.read(at_most + 1)
    if len(found) > at_most:
        raise ValueError(f"more than {at_most:,} bytes")
    return found


@contextlib.contextmanager
def opened(path: Path, but: tuple[type[Exception], ...] = ()) -> Iterator[BinaryIO]:
    """A file, opened for reading; ValueError, without waiting, for a device or a pipe of this machine. ``but``: see
    :func:`reached`.
    """
    if is_remote(path):
        with reached(path, but), path.open("rb") as file:
            yield file
        return
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a file")
        yield file


def move(path: Path, over: Path) -> None:
    """Rename a file to ``over``, replacing that file if it exists."""
    if not is_remote(path):
        path.replace(over)
        return
    remote: Any = path
    remote.fs.mv(remote.path, cast("Any", over).path)


@contextlib.contextmanager
def reached(path: Path, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn any exception of a remote file system in the block into a PairproofError.

    OSError passes unchanged, and so do the exceptions ``but``, which concern the file.
    """
    try:
        yield
    except Exception as why:
        if isinstance(why, (OSError, PairproofError, *but)) or not is_remote(path):
            raise
        reason = " ".join(str(why).split())[:200] or type(why).__name__
        raise PairproofError(f"{path} cannot be reached ({reason}); check its address, keys and endpoint") from None


class Place(click.ParamType[Path]):
    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return place(value) if isinstance(value, str) else cast("Path", value)
