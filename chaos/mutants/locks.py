"""Mutants of queue locks: granted by brokers to members of orderly groups, and obeyed by members."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from ...reference.client.queue_locking import COUNTS_NS, QueueLocking
from ...reference.core.queue_locks import Queue, QueueLocks
from ...reference.wire.bodies_client import MessageQueue
from .mutant import CONSUMER, seeded


@seeded("master", "group-lock-once", "grants a queue's lock to the last requester")
class GivesLocksToAll(QueueLocks):
    def holder(self, group: str, queue: Hashable, now: int) -> str | None:
        return None


@seeded("master", "group-lock-given", "keeps a returned lock until it expires")
class KeepsLocks(QueueLocks):
    def unlock(self, group: str, client: str, queues: Iterable[Hashable]) -> None:
        """They expire."""


@seeded("master", "group-lock-given", "never releases the lock of a lost member")
class LocksForEver(QueueLocks):
    def holder(self, group: str, queue: Hashable, now: int) -> str | None:
        held = self._locks.get((group, queue))
        return held.client if held is not None else None

    def expire(self, now: int) -> None:
        """They stay."""


@seeded("master", "group-lock-given", "grants only the first of several requested locks")
class GivesOneLock(QueueLocks):
    def lock(self, group: str, client: str, queues: Iterable[Queue], now: int) -> list[Queue]:
        return super().lock(group, client, list(queues)[:1], now)


@seeded(CONSUMER, "deliver-orderly", "consumes a queue whose lock another member holds")
class NeedsNoLock(QueueLocking):
    def lock(self, queue: MessageQueue, done: Callable[[int], None]) -> None:
        super().lock(queue, lambda until: done(until or self.shared.io.now() + COUNTS_NS))


@seeded(CONSUMER, "deliver-orderly", "relies on its locks without renewing them")
class NeverRenews(QueueLocking):
    def lock(self, queue: MessageQueue, done: Callable[[int], None]) -> None:
        super().lock(queue, lambda until: done(until and until + 1_000 * COUNTS_NS))

    def renew(self) -> None:
        """Not renewed."""
