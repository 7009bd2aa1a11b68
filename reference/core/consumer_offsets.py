"""Consumer progress: the next queue offset that each group wants, by topic, group and queue. ``consumerOffset.json``.

A commit overwrites, smaller values included. A broker saves the table every flushConsumerOffsetInterval, so a killed
one loses the commits since then. What a slave gets from its master replaces each topic@group it names as a whole; the
others stay, since the master's table says nothing of what was deleted. Source: ConsumerOffsetManager, SlaveSynchronize.
"""

from collections.abc import Mapping
from functools import partial

from ..ports import WholeFiles
from ..wire import beans, bodies
from .config_file import ConfigFile

MAX_KEYS = 100_000


class ConsumerOffsets:
    """Offsets by ``topic@group`` and queue. ``table`` is for reading; a sync puts a new one in its place at once."""

    def __init__(self, disk: WholeFiles) -> None:
        self.file = ConfigFile(disk, "consumerOffset.json")
        self.table: dict[str, dict[int, int]] = {}
        self.changed = False
        """Whether it holds what has not been saved."""

    def load(self) -> None:
        """Take over what was saved; nothing if nothing was."""
        saved = self.file.load(partial(beans.decode, bodies.ConsumerOffsets))
        self.table = saved.offset_table if saved else {}

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        """The group goes on at ``offset``. False, and nothing kept, for one topic@group too many."""
        key = f"{topic}@{group}"
        if key not in self.table and len(self.table) >= MAX_KEYS:
            return False
        queues = self.table.setdefault(key, {})
        if queues.get(queue_id) != offset:
            queues[queue_id] = offset
            self.changed = True
        return True

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """What the group committed last; None if nothing."""
        return self.table.get(f"{topic}@{group}", {}).get(queue_id)

    def remove_group(self, group: str) -> None:
        """Forget the group's progress in all topics."""
        kept = {key: queues for key, queues in self.table.items() if key.partition("@")[2] != group}
        self.changed = self.changed or len(kept) < len(self.table)
        self.table = kept

    def encode(self) -> bytes:
        """The body of GET_ALL_CONSUMER_OFFSET (43), with what has not been saved yet."""
        return beans.encode(bodies.ConsumerOffsets(self.table))

    def apply_from_master(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """A slave: take each topic@group of the master as a whole, and save."""
        self.table = {**self.table, **{key: dict(queues) for key, queues in offsets.items()}}
        self.changed = True
        self.save()

    def save(self) -> None:
        if self.changed:
            self.changed = not self.file.save(beans.encode(bodies.ConsumerOffsets(self.table), pretty=True))
