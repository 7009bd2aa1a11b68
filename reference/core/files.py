"""A queue of fixed-size files over the disk port: RocketMQ's MappedFileQueue.

Each file is named by its start offset (20 digits) and has its full, zeroed size from its creation. Files are
contiguous, and no read or write crosses their boundaries. Differences: a file is created when needed, not one ahead
(files that RocketMQ created ahead are used); bytes after a truncation are zeroed, because the growing log could
otherwise expose them as records. Source: MappedFileQueue, MappedFile, UtilAll.offset2FileName.
"""

from itertools import pairwise

from ..errors import StoreError, StoreRefused
from ..ports import Disk, File

NAME_DIGITS = 20
MAX_OFFSET = (1 << 63) - 1
_PIECE = 64 * 1024
_ZEROS = bytes(_PIECE)


class MappedFiles:
    """The files of one folder. ``end`` is the write position; offsets count from the first file ever. Without a file,
    ``start`` and ``end`` are 0.
    """

    def __init__(self, disk: Disk, folder: str, file_size: int) -> None:
        if file_size <= 0:
            raise StoreError(f"files of {folder} cannot have {file_size} bytes: configure a positive size")
        self.disk = disk
        self.folder = folder
        self.file_size = file_size
        self.start = 0
        self.end = 0
        self._files: list[File] = []

    def load(self, to_gap: bool = False) -> list[str]:
        """Open the folder's files, each taken as full.

        StoreRefused, with the remedy, for a foreign name, a file of another size or a gap between files. With
        ``to_gap`` the files after a gap are left out instead; returns their disk names.
        """
        starts = [self._start_of(name) for name in self.disk.names(self.folder)]
        behind: list[int] = []
        for number, (before, after) in enumerate(pairwise(starts), 1):
            if after != before + self.file_size:
                if to_gap:
                    starts, behind = starts[:number], starts[number:]
                    break
                raise StoreRefused(
                    f"{self.folder} has a gap: {self._name(before)} ends at {before + self.file_size}, the next file "
                    f"starts at {after}; restore the missing files or empty the folder"
                )
        self._files = [self.disk.open(self._name(start), self.file_size) for start in starts]
        self.start = starts[0] if starts else 0
        self.end = self.limit
        return [self._name(start) for start in behind]

    @property
    def limit(self) -> int:
        return self.start + len(self._files) * self.file_size

    @property
    def starts(self) -> list[int]:
        """Start offsets of the files, without later ones that were created ahead (at or after ``end``)."""
        return list(range(self.start, min(self.limit, max(self.end, self.start + 1)), self.file_size))

    def read(self, at: int, limit: int) -> bytes:
        if not self.start <= at < self.end or limit <= 0:
            return b""
        index, inside = divmod(at - self.start, self.file_size)
        return self._files[index].read(inside, min(limit, self.file_size - inside, self.end - at))

    def write(self, at: int, data: bytes) -> None:
        index, inside = divmod(at - self.start, self.file_size)
        self._files[index].write(inside, data)

    def begin(self, at: int) -> None:
        """Begin an empty log at ``at``, in the file that covers it; StoreFull without room."""
        assert self.end == 0, "only an empty log can begin anywhere"
        start = at - at % self.file_size
        if not self._files or start != self.start:
            self._delete_from(self.start)
            file = self.disk.open(self._name(start), self.file_size)
            self.start, self._files = start, [file]
        self.end = at

    def add_file(self) -> None:
        """Append a file; StoreFull, with nothing changed, without room."""
        self._files.append(self.disk.open(self._name(self.limit), self.file_size))

    def names(self, lo: int, hi: int) -> list[str]:
        if lo >= hi:
            return []
        first = max(lo - lo % self.file_size, self.start)
        return [self._name(each) for each in range(first, min(hi, self.limit), self.file_size)]

    def truncate(self, end: int) -> int:
        """End the log at ``end``, durably. Returns the offset after the last non-zero byte removed, or ``end``.

        Later files are deleted, last first: a crash leaves no gap. The rest of the file around ``end`` is zeroed.
        """
        removed = self.used_until(end)
        # A file that starts at the end may stay: it holds only zeros.
        keep = max(self.start, end - end % self.file_size)
        self._delete_from(keep + self.file_size)
        self.end = end
        if end < self.limit:
            self._zero(end, self.limit)
        return removed

    def used_until(self, end: int) -> int:
        used = end
        for start in range(self.start, self.limit, self.file_size):
            used = max(used, self._last_used(max(start, end), start + self.file_size))
        return used

    def expire(self, keep: int) -> None:
        """Delete all but the newest ``keep`` files, oldest first, never the last: a crash leaves no gap.

        Files that were created ahead are kept and not counted.
        """
        while len(self.starts) > max(1, keep):
            self.disk.delete(self._name(self.start))
            self._files.pop(0)
            self.start += self.file_size

    def sync(self, lo: int, hi: int) -> None:
        for name in self.names(lo, hi):
            self.disk.sync(name)

    def _zero(self, lo: int, hi: int) -> None:
        for at in range(lo, hi, _PIECE):
            size = min(_PIECE, hi - at)
            if self._raw(at, size) != _ZEROS[:size]:
                self.write(at, _ZEROS[:size])
        self.disk.sync(self._name(self.limit - self.file_size))

    def _last_used(self, lo: int, hi: int) -> int:
        """The offset after the last non-zero byte of [lo, hi), within one file; 0 if all are zero."""
        while hi > lo:
            at = max(lo, hi - _PIECE)
            piece = self._raw(at, hi - at)
            # Comparing is far faster than stripping, and nearly every piece is zeros.
            if piece != _ZEROS[: hi - at]:
                return at + len(piece.rstrip(b"\0"))
            hi = at
        return 0

    def _raw(self, at: int, size: int) -> bytes:
        index, inside = divmod(at - self.start, self.file_size)
        return self._files[index].read(inside, size)

    def _delete_from(self, offset: int) -> None:
        while self._files and self.limit > offset:
            self.disk.delete(self._name(self.limit - self.file_size))
            self._files.pop()

    def _name(self, start: int) -> str:
        return f"{self.folder}/{start:0{NAME_DIGITS}d}"

    def _start_of(self, name: str) -> int:
        if len(name) != NAME_DIGITS or not (name.isascii() and name.isdigit()) or int(name) > MAX_OFFSET:
            raise StoreRefused(f"{self.folder}/{name} is not named by a start offset of 20 digits: move it elsewhere")
        if int(name) % self.file_size:
            raise StoreRefused(
                f"{self.folder}/{name} does not start at a multiple of {self.file_size}: "
                "configure the file size that the store was written with"
            )
        return int(name)
