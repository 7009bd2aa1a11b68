"""A disk with a page cache: writes are visible at once, a flush makes them durable, a power loss drops the rest.

A *process* crash loses no write. A *machine* crash loses unflushed bytes, except those of the commit log that ``keep``
names: ``none``, ``half`` (the first half, in log order, to a sector boundary), ``hole`` (a lost sector, with later
bytes kept) or ``all``. Derived and small files lose all unflushed bytes, except under ``all``. Under ``some`` each
dirty sector of each file is kept or lost independently, as an operating system writes pages back: derived files may be
ahead of the log, or of one another. Under ``derived`` queues and index keep everything, and the log keeps no unflushed
byte. A file that was never flushed survives only if a part of it is kept. A log file also survives if a later one does,
since a journal preserves the order of creation.

The disk may *lie*: a flush reports success, and only the file's name is durable. The bytes stay dirty, so a later
honest flush of the same file writes them. It may be *full*: no file that needs room can be created, and queues and
index, which are sparse, get no new block; the commit log's files are preallocated and accept every write. A full disk
may spare the log, or all but queues and index. It may be *read-only*, as ext4 after an error: nothing can be created,
renamed or removed, every flush fails, and writes to existing files stay in the page cache.

Its size is limited: a store that needs more ends its process (:class:`Overgrown`), and the trial.

Left out: a drive's own cache, which one honest flush would empty for all files; errors of a single write; bit rot; the
signal that ends a process which writes to a clean page of a read-only file.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from ....reference.errors import StoreError, StoreFull, StoreRefused
from ..blame import Overgrown
from .active_fault import ActiveFault, count

SECTOR = 512
ODDS = 0.5
"""Probability that a dirty sector is lost under ``some``."""
BLOCK = 4_096
SPARSE = ("consumequeue/", "index/")
LOG = "commitlog/"
SPARED = {"but_log": (LOG,), "queues": (LOG, "config/", "checkpoint")}
"""By the ``files`` of a disk that is full for these only: names of files that have room, by their beginnings."""

Range = tuple[int, int]
Part = tuple[str, int, int]


class ReadOnly(StoreError):
    """The disk accepts no writes, so the writer cannot continue."""


STORE_BYTES = 64 * 1024 * 1024
"""As large as the stores of the other labs."""


class Loss(NamedTuple):
    bytes: int
    """Lost bytes of the commit log."""
    lied: bool
    """Whether a finished flush of any file had covered a lost byte."""


class Flush(NamedTuple):
    """A flush in progress: the ranges that were dirty at its start, and the faults that make it lie."""

    taken: list[tuple[SimFile, list[Range]]]
    lies: tuple[ActiveFault, ...]


class SimFile:
    """One file: its visible bytes, its durable bytes, and the ranges in which they may differ."""

    __slots__ = ("blocks", "cache", "dirty", "durable", "feigned", "full", "on_disk", "size")

    def __init__(self, size: int, full: list[ActiveFault] | None = None) -> None:
        self.size = size
        # For a sparse file: its disk's space faults, and its allocated blocks.
        self.full = full
        self.blocks: set[int] = set()
        self.cache = bytearray(size)
        self.durable = bytearray(size)
        self.dirty: list[Range] = []
        # Ranges whose flush a lying disk has reported.
        self.feigned: list[Range] = []
        self.on_disk = False

    def read(self, at: int, length: int) -> bytes:
        return bytes(self.cache[at : at + length])

    def write(self, at: int, data: bytes) -> None:
        """Write into the page cache; StoreFull for a sparse file without room for another block."""
        end = at + len(data)
        if end > self.size:
            raise StoreError(f"write of [{at}, {end}) beyond the file's {self.size} bytes")
        if self.full is not None and data:
            self._take_room(at, data)
        self.cache[at:end] = data
        self.dirty.append((at, end))

    def _take_room(self, at: int, data: bytes) -> None:
        needed = range(at // BLOCK, (at + len(data) - 1) // BLOCK + 1)
        if self.full and (new := [block for block in needed if block not in self.blocks]):
            # Zeros in a range that was never written need no block.
            if any(any(data[max(0, block * BLOCK - at) : (block + 1) * BLOCK - at]) for block in new):
                count(self.full, "files_refused")
                raise StoreFull(f"no room for {len(data)} bytes at {at}")
            return
        self.blocks.update(needed)

    def make_durable(self, ranges: list[Range]) -> None:
        self.on_disk = True
        for lo, hi in ranges:
            self.durable[lo:hi] = self.cache[lo:hi]


class Small(SimFile):
    """A file outside any folder, such as the checkpoint: its writes are points."""

    __slots__ = ("name", "passes")

    def __init__(self, size: int, name: str, passes: Callable[[str, str], None]) -> None:
        super().__init__(size)
        self.name = name
        self.passes = passes

    def write(self, at: int, data: bytes) -> None:
        self.passes("write", self.name)
        super().write(at, data)


class SimDisk:
    """``passes`` is called before a file is created, written as a whole, or renamed."""

    def __init__(self, passes: Callable[[str, str], None] = lambda call, name: None) -> None:
        self.passes = passes
        self.files: dict[str, SimFile] = {}
        self.lies: list[ActiveFault] = []
        self.full: list[ActiveFault] = []
        self.read_only: list[ActiveFault] = []
        self.capacity: Callable[[], int] | None = None
        """Most bytes that it may hold; None: no limit."""
        self._made = 0
        """Upper bound of its size: bytes of new files since the last count, plus that count."""

    # Calls of a node.

    def names(self, folder: str) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        cut = len(prefix)
        return sorted(n[cut:] for n in self.files if n.startswith(prefix) and "/" not in n[cut:])

    def folders(self, folder: str) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        cut = len(prefix)
        inside = (name[cut:] for name in self.files if name.startswith(prefix))
        return sorted({name.partition("/")[0] for name in inside if "/" in name})

    def open(self, name: str, size: int) -> SimFile:
        """Open or create; StoreRefused for another size, StoreFull without room."""
        file = self.files.get(name)
        if file is None:
            self.passes("create", name)
            self.check_writable(name)
            if self.full and size:
                self._refuse(name, size)
            self._take_room(size)
            file = self.files[name] = self._made_file(name, size)
        elif file.size != size:
            raise StoreRefused(f"{name} has {file.size} bytes, not the configured {size}")
        return file

    def delete(self, name: str) -> None:
        if name in self.files:
            self.check_writable(name)
            del self.files[name]

    def write_whole(self, name: str, data: bytes) -> None:
        """Create or replace the file, in the page cache; StoreFull without room."""
        self.passes("write", name)
        self.check_writable(name)
        if self.full and data:
            self._refuse(name, len(data))
        self._take_room(len(data))
        file = self.files[name] = SimFile(len(data))
        file.write(0, data)

    def read_whole(self, name: str) -> bytes | None:
        """The whole file as any process sees it; None if it does not exist."""
        file = self.files.get(name)
        return None if file is None else bytes(file.cache)

    def rename(self, old: str, new: str) -> None:
        """Rename the file, durably; its dirty bytes stay dirty."""
        if old in self.files:
            self.passes("rename", old)
            self.check_writable(old)
            self.files[new] = self.files.pop(old)

    def sync(self, name: str) -> None:
        self.check_writable(name)
        self.finish_flush(self.begin_flush([name]))

    def check_writable(self, what: str) -> None:
        if self.read_only:
            count(self.read_only, "writes_refused")
            raise ReadOnly(f"{what}: read-only file system")

    def _refuse(self, name: str, size: int) -> None:
        """StoreFull if a fault leaves no room for this file."""
        for each in self.full:
            if not name.startswith(each.spared):
                count((each,), "files_refused")
        if not all(name.startswith(each.spared) for each in self.full):
            raise StoreFull(f"no room for the {size} bytes of {name}")

    def _made_file(self, name: str, size: int) -> SimFile:
        if "/" not in name:
            return Small(size, name, self.passes)
        return SimFile(size, self.full if name.startswith(SPARSE) else None)

    def _take_room(self, size: int) -> None:
        self._made += size
        if self._made > STORE_BYTES and self.capacity is not None:
            self._made = self.used() + size
            if self._made > (most := self.capacity()):
                raise Overgrown(f"it grows without bound: its store needs more than {most:,} bytes")

    # Calls of its operator.

    def place(self, name: str, data: bytes) -> None:
        """Add a durable file, regardless of the disk's faults."""
        file = self.files[name] = SimFile(len(data))
        file.cache[:] = data
        _make_durable(file)

    # Calls of its machine.

    def begin_flush(self, names: list[str]) -> Flush:
        files = [self.files[name] for name in names if name in self.files]
        return Flush([(file, list(file.dirty)) for file in files], tuple(self.lies))

    @staticmethod
    def finish_flush(flush: Flush) -> None:
        """End the flush: the ranges that were dirty at its start become durable, unless it lies."""
        for file, dirty in flush.taken:
            if flush.lies:
                _feign(file, dirty, flush.lies)
                continue
            file.make_durable(dirty)
            if file.dirty[: len(dirty)] == dirty:
                del file.dirty[: len(dirty)]
            if file.feigned:
                file.feigned = [each for each in file.feigned if each not in dirty]

    def lose_power(self, keep: str) -> Loss:
        """A machine crash: unflushed bytes are lost according to ``keep``."""
        lost, lied = 0, False
        if keep != "all":
            pending = [(name, lo, hi) for name in sorted(self.files) for lo, hi in _merged(self.files[name].dirty)]
            for name, lo, hi in _scattered(pending) if keep == "some" else _lost(pending, keep):
                file = self.files[name]
                file.cache[lo:hi] = file.durable[lo:hi]
                lost += hi - lo if name.startswith(LOG) else 0
                lied = lied or any(lo < end and start < hi for start, end in file.feigned)
        log_goes_on = False
        for name, file in reversed(list(self.files.items())):
            if keep != "all" and _is_gone(file) and not (log_goes_on and name.startswith(LOG)):
                del self.files[name]
            else:
                log_goes_on = log_goes_on or name.startswith(LOG)
                _make_durable(file)
        return Loss(lost, lied)

    def image(self) -> SimDisk:
        """A copy of the store as any process sees it now, with the page cache, on a disk that holds all of it."""
        copy = SimDisk()
        for name, file in self.files.items():
            copy.files[name] = copy._made_file(name, file.size)
            copy.files[name].blocks |= file.blocks
            copy.files[name].cache[:] = file.cache
            _make_durable(copy.files[name])
        return copy

    def replace(self, store: SimDisk) -> None:
        """Replace the store; the disk's own faults stay."""
        self.files = store.image().files
        for file in self.files.values():
            if file.full is not None:
                file.full = self.full
            if isinstance(file, Small):
                file.passes = self.passes

    def used(self) -> int:
        return sum(file.size for file in self.files.values())


def _feign(file: SimFile, dirty: list[Range], lies: tuple[ActiveFault, ...]) -> None:
    file.on_disk = True
    if dirty:
        file.feigned += dirty
        count(lies, "files_feigned")
        count(lies, "bytes_feigned", sum(hi - lo for lo, hi in dirty))


def _is_gone(file: SimFile) -> bool:
    return not file.on_disk and file.cache == file.durable


def _make_durable(file: SimFile) -> None:
    file.durable[:] = file.cache
    file.on_disk = True
    file.dirty, file.feigned = [], []


def _merged(dirty: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for lo, hi in sorted(dirty):
        if merged and lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        elif hi > lo:
            merged.append((lo, hi))
    return merged


def _scattered(pending: list[Part]) -> list[Part]:
    """The sectors that are lost, drawn independently; the dirty ranges seed the draw."""
    lots = Random(repr(pending))
    return [
        (name, max(lo, at), min(hi, at + SECTOR))
        for name, lo, hi in pending
        for at in range(lo - lo % SECTOR, hi, SECTOR)
        if lots.random() < ODDS
    ]


def _lost(pending: list[Part], keep: str) -> list[Part]:
    if keep == "none":
        return pending
    if keep == "derived":
        return [each for each in pending if not each[0].startswith(SPARSE)]
    log = [each for each in pending if each[0].startswith(LOG)]
    return [*_end_lost(log, keep), *(each for each in pending if not each[0].startswith(LOG))]


def _end_lost(pending: list[Part], keep: str) -> list[Part]:
    """The part of the log that is lost under ``half`` and ``hole``."""
    total = sum(hi - lo for _, lo, hi in pending)
    lost = []
    kept = total // 2
    for name, lo, hi in pending:
        if kept >= hi - lo:
            kept -= hi - lo
            continue
        # A disk writes whole sectors: a lost one has its old contents.
        first = max(lo, lo + kept - (lo + kept) % SECTOR)
        kept = 0
        if keep == "hole":
            # One sector around the middle is lost; later ones were written.
            lost.append((name, first, min(hi, first - first % SECTOR + SECTOR)))
            break
        lost.append((name, first, hi))
    return lost
