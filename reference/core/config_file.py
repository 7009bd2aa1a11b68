"""One file of the store's ``config`` folder, with its backup: ConfigManager and MixAll.string2File.

A save writes ``X.tmp``, renames the old X to the backup ``X.bak``, then renames the new file: at any kill one of X and
X.bak is whole. A load takes X or, if that is missing, empty or torn, X.bak. Only a whole X that a flush made durable
replaces the backup (in RocketMQ any X does): otherwise two fast saves and a machine crash could lose both. An X that
cannot be read, perhaps from another version of RocketMQ, becomes ``X.unreadable`` before it is replaced.

The caller flushes ``names`` after a save and reports the end of that flush. Later saves may be lost in a machine crash.
RocketMQ does not flush these files. :class:`SavedTable` is such a file with a table of offsets.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from ..errors import CodecError, StoreFull
from ..ports import WholeFiles
from ..wire import beans

T = TypeVar("T")
Key = TypeVar("Key")
Value = TypeVar("Value")


class ConfigFile:
    def __init__(self, disk: WholeFiles, name: str) -> None:
        self.disk = disk
        self.name = f"config/{name}"
        self.backup = f"{self.name}.bak"
        self.on_saved: Callable[[ConfigFile], None] | None = None
        """Called after every successful save."""
        self.saves = 0
        # X may become the backup only after it was read or saved whole, and flushed.
        self._whole = False
        self._durable = False
        self._unreadable = False

    @property
    def names(self) -> list[str]:
        return [self.name, self.backup]

    def load(self, parse: Callable[[bytes], T]) -> T | None:
        """The parsed file or backup; None if ``parse`` raises CodecError for both."""
        current = self._parsed(self.name, parse)
        self._whole = current is not None
        self._unreadable = current is None and any(self.disk.read_whole(self.name) or b"")
        return current if current is not None else self._parsed(self.backup, parse)

    def save(self, data: bytes) -> bool:
        """Replace the content. False if the disk is full; the previous content remains."""
        temporary = f"{self.name}.tmp"
        try:
            self.disk.write_whole(temporary, data)
        except StoreFull:
            return False
        self._put_in_place(temporary)
        self.saves += 1
        if self.on_saved is not None:
            self.on_saved(self)
        return True

    def _put_in_place(self, temporary: str) -> None:
        if self._whole and self._durable:
            self.disk.rename(self.name, self.backup)
        elif self._unreadable:
            self.disk.rename(self.name, f"{self.name}.unreadable")
        self.disk.rename(temporary, self.name)
        self._whole, self._durable, self._unreadable = True, False, False

    def flushed(self, saves: int) -> None:
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


class SavedTable(Generic[Key, Value]):
    """``table`` is the field ``offset_table`` of the body; ``changed``: since it was last saved."""

    name: ClassVar[str]
    body: ClassVar[Any]
    """The type of the body and of the file."""

    def __init__(self, disk: WholeFiles) -> None:
        self.file = ConfigFile(disk, self.name)
        self.table: dict[Key, Value] = {}
        self.changed = False

    def load(self) -> None:
        saved = self.file.load(partial(beans.decode, self.body))
        self.table = saved.offset_table if saved else {}

    def encode(self, *, pretty: bool = False) -> bytes:
        return beans.encode(self.body(self.table), pretty=pretty)

    def save(self) -> None:
        if self.changed:
            self.changed = not self.file.save(self.encode(pretty=True))
