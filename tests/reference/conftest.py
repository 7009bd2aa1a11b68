"""Fakes and data that the reference's tests share: an in-memory disk, and the captured store of RocketMQ 4.9.7."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairproof.reference.errors import StoreError, StoreFull

# pytest's importlib mode leaves test folders off the path; ``fake_port`` is imported by name.
sys.path.insert(0, str(Path(__file__).parent))

GOLDEN = Path(__file__).parent.parent / "golden" / "rocketmq-4.9.7"
GOLDEN_FILE_SIZE = 65536


class MemoryFile:
    def __init__(self, data: bytes | bytearray) -> None:
        self.data = bytearray(data)
        self.size = len(data)

    def read(self, at: int, length: int) -> bytes:
        assert at >= 0 and at + length <= self.size, f"read of [{at}, {at + length}) outside a file of {self.size}"
        return bytes(self.data[at : at + length])

    def write(self, at: int, data: bytes) -> None:
        assert at >= 0 and at + len(data) <= self.size, f"write of [{at}, {at + len(data)}) outside {self.size} bytes"
        self.data[at : at + len(data)] = data


class MemoryDisk:
    """Files as byte arrays; ``room`` is how many more files may be created, ``synced`` what was synced, in order."""

    def __init__(self, room: int = 1_000) -> None:
        self.files: dict[str, MemoryFile] = {}
        self.room = room
        self.synced: list[str] = []
        self.deleted: list[str] = []

    def names(self, folder: str) -> list[str]:
        return sorted(Path(name).name for name in self.files if str(Path(name).parent) == (folder or "."))

    def folders(self, folder: str) -> list[str]:
        inside = [Path(name).relative_to(folder).parts for name in self.files if Path(name).is_relative_to(folder)]
        return sorted({parts[0] for parts in inside if len(parts) > 1})

    def open(self, name: str, size: int) -> MemoryFile:
        if name not in self.files:
            if self.room <= 0:
                raise StoreFull(f"no room for {name}")
            self.room -= 1
            self.files[name] = MemoryFile(bytes(size))
        elif self.files[name].size != size:
            raise StoreError(f"{name} has {self.files[name].size} bytes, not {size}")
        return self.files[name]

    def delete(self, name: str) -> None:
        self.deleted.append(name)
        self.files.pop(name, None)

    def sync(self, name: str) -> None:
        self.synced.append(name)

    def write_whole(self, name: str, data: bytes) -> None:
        if self.room <= 0:
            raise StoreFull(f"no room for {name}")
        self.files[name] = MemoryFile(data)

    def read_whole(self, name: str) -> bytes | None:
        return bytes(self.files[name].data) if name in self.files else None

    def rename(self, old: str, new: str) -> None:
        if old in self.files:
            self.files[new] = self.files.pop(old)


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


@pytest.fixture(scope="session")
def make_disk() -> Callable[..., MemoryDisk]:
    return MemoryDisk


@pytest.fixture(scope="session")
def golden() -> Path:
    return GOLDEN


@pytest.fixture(scope="session")
def golden_disk() -> Callable[[str], MemoryDisk]:
    """A fresh copy of a captured broker's commit log folder, by the broker's name."""

    def load(broker: str) -> MemoryDisk:
        disk = MemoryDisk()
        for file in sorted((GOLDEN / "store" / broker / "commitlog").iterdir()):
            disk.files[f"commitlog/{file.name}"] = MemoryFile(file.read_bytes())
        return disk

    return load


@pytest.fixture(scope="session")
def golden_rows() -> Callable[[str], list[dict[str, Any]]]:
    """The lines of ``expected/<name>.jsonl``."""

    def load(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (GOLDEN / "expected" / f"{name}.jsonl").read_text().splitlines()]

    return load


@pytest.fixture(scope="session")
def golden_records() -> list[bytes]:
    """Every record of the captured master's log, in order."""
    lines = (GOLDEN / "expected" / "master.commitlog.jsonl").read_text().splitlines()
    log = b"".join(file.read_bytes() for file in sorted((GOLDEN / "store" / "master" / "commitlog").iterdir()))
    rows = [json.loads(line) for line in lines]
    return [
        log[row["physicalOffset"] : row["physicalOffset"] + row["storeSize"]]
        for row in rows
        if row["kind"] == "message"
    ]
