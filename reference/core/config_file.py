"""One file of the store's ``config`` folder, with its backup: ConfigManager and MixAll.string2File.

A save writes ``X.tmp``, makes the old X the backup ``X.bak``, then gives the new file its name: whatever moment the
process is killed at, one of X and X.bak is whole. A load takes X or, if that is missing, empty or torn, X.bak. A torn X
never takes a good backup's place (in RocketMQ the next save puts it there), and neither does one that no flush is known
to have made durable: else two saves, one right after the other, and a machine crash would leave neither. What could not
be read, perhaps since another version of RocketMQ wrote it, becomes ``X.unreadable`` when something takes its place.

Who uses it flushes ``names`` after a save, and says when that has ended; what came later may be gone after a machine
crash. RocketMQ flushes none of these files. Not here: what the files say.
"""

from collections.abc import Callable
from typing import TypeVar

from ..errors import CodecError, StoreFull
from ..ports import WholeFiles

T = TypeVar("T")


class ConfigFile:
    """The file ``config/<name>`` of a store."""

    def __init__(self, disk: WholeFiles, name: str) -> None:
        self.disk = disk
        self.name = f"config/{name}"
        self.backup = f"{self.name}.bak"
        self.on_saved: Callable[[ConfigFile], None] | None = None
        """Hears of every save that worked."""
        self.saves = 0
        """How often it has been saved."""
        # Until it has been read, and until it has been flushed: whether X may become the backup.
        self._whole = False
        self._durable = False
        self._unreadable = False

    @property
    def names(self) -> list[str]:
        """The files to flush so that what was saved, and the backup, survive a machine crash."""
        return [self.name, self.backup]

    def load(self, parse: Callable[[bytes], T]) -> T | None:
        """What ``parse`` makes of the file or of its backup; None if it raises CodecError for both."""
        current = self._parsed(self.name, parse)
        self._whole = current is not None
        self._unreadable = current is None and any(self.disk.read_whole(self.name) or b"")
        return current if current is not None else self._parsed(self.backup, parse)

    def save(self, data: bytes) -> bool:
        """Replace the content. False if the disk is full: what was saved before is still there."""
        temporary = f"{self.name}.tmp"
        try:
            self.disk.write_whole(temporary, data)
        except StoreFull:
            return False
        if self._whole and self._durable:
            self.disk.rename(self.name, self.backup)
        elif self._unreadable:
            self.disk.rename(self.name, f"{self.name}.unreadable")
        self.disk.rename(temporary, self.name)
        self._whole, self._durable, self._unreadable = True, False, False
        self.saves += 1
        if self.on_saved is not None:
            self.on_saved(self)
        return True

    def flushed(self, saves: int) -> None:
        """A flush of :attr:`names` that began after so many saves has ended."""
        if saves == self.saves:
            self._durable = True

    def _parsed(self, name: str, parse: Callable[[bytes], T]) -> T | None:
        data = self.disk.read_whole(name)
        if not data:
            return None
        try:
            return parse(data)
        except CodecError:
            return None
