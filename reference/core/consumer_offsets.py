"""Consumer progress: each group's next offset by topic and queue. ``consumerOffset.json``.

A commit overwrites, even with a smaller value. A broker saves the table every flushConsumerOffsetInterval, so a kill
loses the later commits. The master's table replaces each topic@group that it names; the slave keeps the others, since
the table does not list deletions. Source: ConsumerOffsetManager, SlaveSynchronize.
"""

from collections.abc import Mapping

from ..wire import bodies
from .config_file import SavedTable

MAX_KEYS = 100_000


class ConsumerOffsets(SavedTable[str, dict[int, int]]):
    """Offsets by ``topic@group`` and queue. ``table`` is read-only; a sync replaces it in one step.

    Inherited: 8239 (4.x, 5.x before PR 8240): progress may pass the durable end of the log, and offsets that a crash
    took are given again, so a group skips new messages. Law: ``deliver-no-loss``.
    """

    name = "consumerOffset.json"
    body = bodies.ConsumerOffsets

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        """Set the group's next offset. False, with nothing changed, beyond the limit of topic@group keys."""
        key = f"{topic}@{group}"
        if key not in self.table and len(self.table) >= MAX_KEYS:
            return False
        queues = self.table.setdefault(key, {})
        if queues.get(queue_id) != offset:
            queues[queue_id] = offset
            self.changed = True
        return True

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        return self.table.get(f"{topic}@{group}", {}).get(queue_id)

    def remove_group(self, group: str) -> None:
        kept = {key: queues for key, queues in self.table.items() if key.partition("@")[2] != group}
        self.changed = self.changed or len(kept) < len(self.table)
        self.table = kept

    def apply_from_master(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """On a slave: replace each topic@group that the master names, and save.

        Inherited: 1094 (4.x, 5.x): a master that returns with older progress overwrites newer progress of its slave, so
        groups receive messages again. Law: ``progress-recovers``.

        Inherited: 7263 (4.x, 5.x): progress of a group that was deleted at the master stays on the slave.
        Law: ``meta-converges``.
        """
        self.table = {**self.table, **{key: dict(queues) for key, queues in offsets.items()}}
        self.changed = True
        self.save()
