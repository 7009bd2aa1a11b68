"""A disk with a page cache: writes are visible at once, a flush makes them durable, a power loss takes the rest.

A *process* crash keeps everything that was written. A *machine* crash keeps what had been flushed and, of the
unflushed bytes, what ``keep`` says: ``none``, ``half`` (the first half, in log order), ``hole`` (a lost sector, with
later bytes kept) or ``all``. A file that was never flushed does not survive unless something of it is kept.
"""

from __future__ import annotations

from pairproof.reference.errors import StoreError

SECTOR = 512
KEEPS = ("none", "half", "hole", "all")


class SimFile:
    """One file: what a reader sees, what a power loss leaves, and the ranges in which they may differ."""

    __slots__ = ("cache", "dirty", "durable", "on_disk", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.cache = bytearray(size)
        self.durable = bytearray(size)
        self.dirty: list[tuple[int, int]] = []
        self.on_disk = False

    def read(self, at: int, length: int) -> bytes:
        """Bytes as any process sees them."""
        return bytes(self.cache[at : at + length])

    def write(self, at: int, data: bytes) -> None:
        """Write into the page cache."""
        end = at + len(data)
        if end > self.size:
            raise StoreError(f"write of [{at}, {end}) beyond the file's {self.size} bytes")
        self.cache[at:end] = data
        self.dirty.append((at, end))

    def make_durable(self, ranges: list[tuple[int, int]]) -> None:
        """What the page cache holds in these ranges survives a power loss from now on."""
        self.on_disk = True
        for lo, hi in ranges:
            self.durable[lo:hi] = self.cache[lo:hi]


class SimDisk:
    """The store directory of one node; survives every crash of it, as far as the crash's kind allows."""

    def __init__(self) -> None:
        self.files: dict[str, SimFile] = {}

    def names(self, folder: str) -> list[str]:
        """Names in ``folder``, sorted."""
        prefix = f"{folder}/" if folder else ""
        cut = len(prefix)
        return sorted(n[cut:] for n in self.files if n.startswith(prefix) and "/" not in n[cut:])

    def open(self, name: str, size: int) -> SimFile:
        """Open or create; StoreError for another size."""
        file = self.files.get(name)
        if file is None:
            file = self.files[name] = SimFile(size)
        elif file.size != size:
            raise StoreError(f"{name} has {file.size} bytes, not the configured {size}")
        return file

    def delete(self, name: str) -> None:
        """Remove, durably."""
        self.files.pop(name, None)

    def sync(self, name: str) -> None:
        """Make one file durable at once."""
        file = self.files.get(name)
        if file is not None:
            file.make_durable(file.dirty)
            file.dirty = []

    def take_dirty(self, names: list[str]) -> list[tuple[SimFile, list[tuple[int, int]]]]:
        """What a flush that starts now will make durable."""
        taken = []
        for name in names:
            file = self.files.get(name)
            if file is not None:
                taken.append((file, list(file.dirty)))
        return taken

    @staticmethod
    def finish_flush(taken: list[tuple[SimFile, list[tuple[int, int]]]]) -> None:
        """The flush is through: the ranges that were dirty when it began are durable."""
        for file, dirty in taken:
            file.make_durable(dirty)
            if file.dirty[: len(dirty)] == dirty:
                del file.dirty[: len(dirty)]

    def lose_power(self, keep: str) -> int:
        """A machine crash: unflushed bytes are lost as ``keep`` says. How many were."""
        if keep == "all":
            return 0
        lost = 0
        pending = [
            (name, lo, hi)
            for name in sorted(self.files)
            for lo, hi in _merged(self.files[name].dirty)
            if name != "abort"
        ]
        for name, lo, hi in _lost_ranges(pending, keep):
            file = self.files[name]
            file.cache[lo:hi] = file.durable[lo:hi]
            lost += hi - lo
        for name, file in list(self.files.items()):
            if not file.on_disk and file.cache == file.durable:
                del self.files[name]
            else:
                # What survived is what the disk holds.
                file.durable[:] = file.cache
                file.on_disk = True
                file.dirty = []
        return lost


def _merged(dirty: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for lo, hi in sorted(dirty):
        if merged and lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        elif hi > lo:
            merged.append((lo, hi))
    return merged


def _lost_ranges(pending: list[tuple[str, int, int]], keep: str) -> list[tuple[str, int, int]]:
    """The part of the unflushed ranges that a power loss takes."""
    if keep == "none":
        return pending
    total = sum(hi - lo for _, lo, hi in pending)
    lost = []
    kept = total // 2
    for name, lo, hi in pending:
        if kept >= hi - lo:
            kept -= hi - lo
            continue
        start = lo + kept
        kept = 0
        if keep == "hole":
            # One sector around the middle is lost, what lies behind it was written out.
            first = max(lo, start - start % SECTOR)
            lost.append((name, first, min(hi, first - first % SECTOR + SECTOR)))
            break
        lost.append((name, start, hi))
    return lost
