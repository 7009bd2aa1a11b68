"""A loss of power, imitated: what was not synced is lost, torn, or there, as chance wills.

Of a file counts what it held when it was last synced; of a folder, the names that it had then. What is newer may have
reached the disk or not, each file and each name for itself, as on a file system that promises no order.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

Identity = tuple[int, int]
"""Of a file: its inode, and when it was written; inodes are used again."""


class PowerLoss(BaseException):
    """Nothing that a process does after it counts."""


class Power:
    """Within its ``with`` block power fails at the ``after``-th call that writes a name or syncs; never, if None."""

    def __init__(self, folder: Path, chance: random.Random, after: int | None = None) -> None:
        self.folder = folder
        self.chance = chance
        self.after = after
        self.calls = 0
        self._files: dict[Identity, bytes] = {}
        self._names: dict[Path, dict[str, Identity]] = {}
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Power:
        sync, replace = os.fsync, os.replace
        # What there was before is on the disk.
        for path in (self.folder.parent, *self.folder.parent.rglob("*")):
            if path.is_dir():
                self._names[path] = _names(path)
            else:
                self._files[_identity(path)] = path.read_bytes()

        def fsync(fd: int) -> None:
            self._fails()
            path = Path(f"/proc/self/fd/{fd}").readlink()
            if path.is_dir():
                self._names[path] = _names(path)
            else:
                self._files[_identity(path)] = path.read_bytes()
            sync(fd)

        def renamed(*args: Any, **more: Any) -> None:
            self._fails()
            replace(*args, **more)

        self._patch.setattr(os, "fsync", fsync)
        self._patch.setattr(os, "replace", renamed)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._patch.undo()

    def _fails(self) -> None:
        self.calls += 1
        if self.after is not None and self.calls > self.after:
            raise PowerLoss

    def lose(self) -> None:
        """Leave in the folder what is there when power is back."""
        known = self._names.get(self.folder.parent, {})
        if self.folder.name not in known and self.chance.random() < 0.5:
            shutil.rmtree(self.folder)
        else:
            self._lose(self.folder)

    def _lose(self, folder: Path) -> None:
        was, now = self._names.get(folder, {}), _names(folder)
        for name in sorted({*was, *now}):
            path = folder / name
            if path.is_dir():
                if name not in was and self.chance.random() < 0.5:
                    shutil.rmtree(path)
                else:
                    self._lose(path)
                continue
            chosen = now.get(name)
            if chosen != was.get(name):
                chosen = self.chance.choice([chosen, was.get(name)])
            if chosen is None:
                path.unlink(missing_ok=True)
            elif chosen in self._files:
                path.write_bytes(self._files[chosen])
            else:
                # Never synced: its name may be there before its bytes are.
                held = path.read_bytes() if chosen == now.get(name) else b""
                path.write_bytes(self.chance.choice([b"", held[: len(held) // 2], held]))


def _identity(path: Path) -> Identity:
    found = path.stat()
    return (found.st_ino, 0 if path.is_dir() else found.st_mtime_ns)


def _names(folder: Path) -> dict[str, Identity]:
    return {each.name: _identity(each) for each in folder.iterdir()}
