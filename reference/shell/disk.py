"""A store directory: the disk port over real files.

Files are mapped, so a write is in the page cache, visible to every process, at once, and survives kill -9. A flush is
fdatasync, like Java's MappedByteBuffer.force; Python's msync would block the interpreter, and so the whole broker,
until the disk is done. A new file appears under its name complete and zero-filled. The next flush also makes its name
durable.

Writing to a mapped page without a block on a full disk would kill the process, so each page's block is allocated before
the write: one by one for queues and index, whose files may stay nearly empty; for the commit log with the whole file,
at its creation, or before the first write if RocketMQ created it (without allocation). Pages without a block are never
touched, but known to be zeros.

Mapped files use no descriptors, so topics do not either; a process without free descriptors behaves as with a full
disk.

The commit log may be in another directory (storePathCommitLog). ``lock`` is locked as in RocketMQ.
"""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

from ..errors import StoreError, StoreFull, StoreRefused

COMMIT_LOG = "commitlog"
SPARSE = ("consumequeue/", "index/")
SIZED_BY = {
    COMMIT_LOG: "mappedFileSizeCommitLog",
    "consumequeue": "mappedFileSizeConsumeQueue",
    "index": "maxHashSlotNum and maxIndexNum (4 bytes a slot, 20 an entry, and 40)",
}
"""The settings that determine the size of a folder's files."""
BLOCK = mmap.PAGESIZE
STAT_BLOCK = 512
"""The unit of st_blocks, bytes."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
HIDDEN = "."
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.argtypes = (
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
)  # fmt: skip
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_MAP_FAILED = ctypes.c_void_p(-1).value


class MappedFile:
    """One mapped file; it stays mapped while it is referenced."""

    __slots__ = ("_blocks", "_bytes", "_path", "_sparse", "size")

    def __init__(self, path: Path, size: int, sparse: bool = False, sized_by: str = "the size") -> None:
        with path.open("r+b") as file:
            about = os.fstat(file.fileno())
            found = about.st_size
            if found != size:
                # RocketMQ creates a file before it sets its size.
                remedy = f"set {sized_by} as when it was written" if found else "it is empty, move it elsewhere"
                raise StoreRefused(f"{path} has {found} bytes, not the configured {size}: {remedy}")
            has_holes = sparse or about.st_blocks * STAT_BLOCK < size
            self._blocks = _blocks_of(file.fileno(), size) if has_holes else None
            # An empty file cannot be mapped.
            self._bytes = _mapped(file.fileno(), size) if size else memoryview(bytearray())
        self._path = path
        self._sparse = sparse
        self.size = size

    def read(self, at: int, length: int) -> bytes:
        self._check(at, length)
        blocks = self._blocks
        if blocks is None or all(blocks[at // BLOCK : (at + length - 1) // BLOCK + 1]):
            return bytes(self._bytes[at : at + length])
        return b"".join(
            self._bytes[lo:hi] if blocks[lo // BLOCK] else bytes(hi - lo) for lo, hi in _pieces(at, at + length)
        )

    def write(self, at: int, data: bytes) -> None:
        """Write into the page cache; StoreFull, with nothing written, without room."""
        self._check(at, len(data))
        blocks = self._blocks
        end = at + len(data)
        if blocks is None or all(blocks[at // BLOCK : (end - 1) // BLOCK + 1]):
            self._bytes[at:end] = data
            return
        # Zeros in a hole are there already.
        pieces = [(lo, hi) for lo, hi in _pieces(at, end) if blocks[lo // BLOCK] or any(data[lo - at : hi - at])]
        for lo, _ in pieces:
            if not blocks[lo // BLOCK]:
                self._reserve(blocks, lo // BLOCK)
        for lo, hi in pieces:
            self._bytes[lo:hi] = data[lo - at : hi - at]

    def _reserve(self, blocks: bytearray, number: int) -> None:
        first, last = (number, number + 1) if self._sparse else (0, len(blocks))
        with _store_errors(self._path):
            fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.posix_fallocate(fd, first * BLOCK, min(last * BLOCK, self.size) - first * BLOCK)
            finally:
                os.close(fd)
        blocks[first:last] = b"\1" * (last - first)

    def _check(self, at: int, length: int) -> None:
        if at < 0 or length < 0 or at + length > self.size:
            raise StoreError(f"[{at}, {at + length}) is not within the file's {self.size} bytes")


def _mapped(fd: int, size: int) -> memoryview:
    """The bytes of a file. Python's own mmap would hold a descriptor."""
    at = _LIBC.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
    if at == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    memory = (ctypes.c_ubyte * size).from_address(at)
    # Live references delay this; at the process's end the kernel unmaps it.
    weakref.finalize(memory, _LIBC.munmap, at, size).atexit = False
    return memoryview(memory).cast("B")


def _pieces(lo: int, hi: int) -> Iterator[tuple[int, int]]:
    while lo < hi:
        end = min(hi, lo - lo % BLOCK + BLOCK)
        yield lo, end
        lo = end


def _blocks_of(fd: int, size: int) -> bytearray:
    """For each block 1 if it may be touched, 0 if it is in a hole (without a block, or never written)."""
    blocks = bytearray(-(-size // BLOCK))
    at = 0
    while at < size:
        try:
            lo = os.lseek(fd, at, os.SEEK_DATA)
        except OSError as why:
            if why.errno != errno.ENXIO:
                raise
            # Only a hole is left.
            break
        at = os.lseek(fd, lo, os.SEEK_HOLE)
        first, last = lo // BLOCK, -(-at // BLOCK)
        blocks[first:last] = b"\1" * (last - first)
    return blocks


class RealDisk:
    """One node's store directory, created with its first file."""

    def __init__(self, root: Path, commit_log: Path | None = None) -> None:
        self.root = root
        self.commit_log = commit_log or root / COMMIT_LOG
        self._unnamed: set[str] = set()

    def names(self, folder: str) -> list[str]:
        # Files under construction are hidden, as are those whose construction a crash interrupted.
        return sorted(each.name for each in self._in(folder) if each.is_file() and not each.name.startswith(HIDDEN))

    def folders(self, folder: str) -> list[str]:
        return sorted(each.name for each in self._in(folder) if each.is_dir() and _holds_files(each))

    def _in(self, folder: str) -> Iterator[Path]:
        path = self._path(folder)
        return path.iterdir() if path.is_dir() else iter(())

    def open(self, name: str, size: int) -> MappedFile:
        path = self._path(name)
        sparse = name.startswith(SPARSE)
        with _store_errors(path):
            if not path.exists():
                self._create(path, size, sparse)
                self._unnamed.add(name)
            return MappedFile(path, size, sparse, SIZED_BY.get(name.partition("/")[0], "the size"))

    def delete(self, name: str) -> None:
        """Remove durably: files that recovery or retention removed must not come back."""
        path = self._path(name)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            self._unnamed.discard(name)
            _sync_folder(path.parent)

    def write_whole(self, name: str, data: bytes) -> None:
        path = self._path(name)
        with _store_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        self._unnamed.add(name)

    def read_whole(self, name: str) -> bytes | None:
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            return None

    def rename(self, old: str, new: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path(old).rename(self._path(new))
            self._unnamed.discard(old)
            self._unnamed.add(new)

    def sync(self, name: str) -> None:
        """Make one file durable before returning; nothing if it is gone. Thread-safe."""
        path = self._path(name)
        try:
            fd = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            os.fdatasync(fd)
            if name in self._unnamed:
                for folder in self._folders(path):
                    _sync_folder(folder)
                self._unnamed.discard(name)
        except OSError as why:
            raise StoreError(f"{path} cannot be made durable: {why.strerror}") from why
        finally:
            os.close(fd)

    def _path(self, name: str) -> Path:
        first, _, rest = name.partition("/")
        return self.commit_log / rest if first == COMMIT_LOG else self.root / name

    def _folders(self, path: Path) -> list[Path]:
        return [each for each in path.parents if each.is_relative_to(self.root) or each == self.commit_log]

    @staticmethod
    def _create(path: Path, size: int, sparse: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(HIDDEN + path.name)
        try:
            with unfinished.open("wb") as file:
                if sparse:
                    file.truncate(size)
                elif size:
                    os.posix_fallocate(file.fileno(), 0, size)
            unfinished.rename(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as why:
        kind = StoreFull if why.errno in FULL else StoreError
        raise kind(f"cannot open or write {path}: {why.strerror}") from why


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the store's lock file; StoreError if another process holds it.

    If the store is refused (StoreRefused), the lock file is left as before.
    """
    path = root / "lock"
    try:
        root.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        file = path.open("ab")
    except OSError as why:
        raise StoreError(f"cannot use the store {root}: {why.strerror}") from why
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except OSError as why:
            if why.errno not in (errno.EACCES, errno.EAGAIN):
                raise StoreError(f"cannot lock the store {root}: {why.strerror}") from why
            raise StoreError(
                f"another broker runs on the store {root}: stop it, or set another storePathRootDir"
            ) from None
        was_empty = file.tell() == 0
        with contextlib.suppress(OSError):
            # Its content is not read; without room the lock still holds.
            if was_empty:
                file.write(b"lock")
                file.flush()
        try:
            yield
        except StoreRefused:
            with contextlib.suppress(OSError):
                if was_empty:
                    file.truncate(0)
                if is_new:
                    path.unlink()
            raise


def _holds_files(folder: Path) -> bool:
    return any(files for _, _, files in folder.walk()) if hasattr(folder, "walk") else any(folder.rglob("*"))
