"""A table of configs by name with a data version, in a config file: the base of topics and groups.

Every local change makes the next version and saves the file at once. A slave replaces its table by its master's,
version included, iff the versions differ (not: iff the master's is newer), in one step: readers never see a part.
Source: TopicConfigManager, SubscriptionGroupManager, DataVersion, SlaveSynchronize (which clears the table first; a
pull in between finds nothing).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Generic, TypeVar

from ..wire import beans
from ..wire.bodies import DataVersion
from .config_file import ConfigFile

MAX_ENTRIES = 100_000
MAX_QUEUES = 10_000
"""Queues of one topic on one broker. Larger numbers in a master's table or a file are reduced to this."""

Entry = TypeVar("Entry")


class VersionedTable(Generic[Entry]):
    """``entries`` by name, read-only. ``wall_ms``: the clock for versions, ms since the epoch."""

    body: ClassVar[Any]
    """The type of the table's body and file: a named tuple of entries and version."""
    queue_numbers: ClassVar[tuple[str, ...]]

    def __init__(self, file: ConfigFile, wall_ms: Callable[[], int], system: Mapping[str, Entry]) -> None:
        self.file = file
        self.wall_ms = wall_ms
        self.entries: Mapping[str, Entry] = dict(system)
        self.version = DataVersion(wall_ms(), 0)
        self.changed = False
        self._made: dict[bool, bytes] = {}

    def parse(self, data: bytes) -> tuple[Mapping[str, Entry], DataVersion]:
        return _parsed(self.body, self.queue_numbers, data)

    def encode(self, *, pretty: bool = False) -> bytes:
        """The table as a body, or ``pretty`` as in its file; cached until it changes."""
        made = self._made.get(pretty)
        if made is None:
            made = self._made[pretty] = _encoded(self.body, tuple(self.entries.items()), self.version, pretty)
        return made

    def load(self) -> None:
        saved = self.file.load(self.parse)
        if saved is not None:
            self.entries, self.version = {**self.entries, **saved[0]}, saved[1]
            self._made.clear()

    def save(self) -> None:
        """Save unsaved changes. Every change saves; a timer retries after a full disk."""
        if self.changed:
            self.changed = not self.file.save(self.encode(pretty=True))

    def get(self, name: str) -> Entry | None:
        return self.entries.get(name)

    def put(self, name: str, entry: Entry) -> bool:
        return bool(self.put_all({name: entry}))

    def put_all(self, entries: Mapping[str, Entry]) -> Mapping[str, Entry]:
        """Create or replace entries in one change, up to the limit; returns those."""
        room = MAX_ENTRIES - len(self.entries)
        too_many = set([name for name in entries if name not in self.entries][max(0, room) :])
        taken = {name: entry for name, entry in entries.items() if name not in too_many} if too_many else entries
        if taken:
            self._change({**self.entries, **taken})
        return taken

    def remove(self, name: str) -> bool:
        if name not in self.entries:
            return False
        self._change({key: entry for key, entry in self.entries.items() if key != name})
        return True

    def apply_from_master(self, entries: Mapping[str, Entry], version: DataVersion) -> bool:
        """On a slave: replace the table by the master's if its version differs; whether it did."""
        if version == self.version:
            return False
        self._become(entries, version)
        return True

    def _change(self, entries: Mapping[str, Entry]) -> None:
        self._become(entries, DataVersion(self.wall_ms(), self.version.counter + 1))

    def _become(self, entries: Mapping[str, Entry], version: DataVersion) -> None:
        self.entries, self.version = dict(entries), version
        self._made.clear()
        self.changed = True
        self.save()


@lru_cache(maxsize=128)
def _encoded(body: Any, entries: tuple[tuple[str, Any], ...], version: DataVersion, pretty: bool) -> bytes:
    return beans.encode(body(dict(entries), version), pretty=pretty)


@lru_cache(maxsize=128)
def _parsed(body: Any, queue_numbers: tuple[str, ...], data: bytes) -> tuple[Mapping[str, Any], DataVersion]:
    # Cached: brokers restart often on unchanged tables.
    entries, version = beans.decode(body, data)
    return {
        name: each._replace(**{field: max(0, min(getattr(each, field), MAX_QUEUES)) for field in queue_numbers})
        for name, each in entries.items()
    }, version
