"""Queue locks for orderly consumers: which client of a group may consume a queue.

A lock expires 60 s after its last renewal. Locks are in memory only and per broker, and are never replicated. Source:
RebalanceLockManager.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar

LOCK_LIVES_NS = 60 * 1_000_000_000
MAX_LOCKS = 100_000

Queue = TypeVar("Queue", bound=Hashable)


class Lock(NamedTuple):
    """A queue's holder, and the expiry, ns."""

    client: str
    until: int


class QueueLocks:
    """Locks by group and queue. ``now`` is monotonic time, ns."""

    def __init__(self) -> None:
        self._locks: dict[tuple[str, Hashable], Lock] = {}

    def lock(self, group: str, client: str, queues: Iterable[Queue], now: int) -> list[Queue]:
        """Lock or renew queues that are free or the client's; returns those that it holds now, in the given order."""
        return [queue for queue in dict.fromkeys(queues) if self._take((group, queue), client, now)]

    def unlock(self, group: str, client: str, queues: Iterable[Hashable]) -> None:
        for queue in queues:
            held = self._locks.get((group, queue))
            if held is not None and held.client == client:
                del self._locks[group, queue]

    def holder(self, group: str, queue: Hashable, now: int) -> str | None:
        held = self._locks.get((group, queue))
        return held.client if held is not None and now <= held.until else None

    def expire(self, now: int) -> None:
        self._locks = {key: held for key, held in self._locks.items() if now <= held.until}

    def _take(self, key: tuple[str, Hashable], client: str, now: int) -> bool:
        if self.holder(*key, now) not in (None, client):
            return False
        if key not in self._locks and len(self._locks) >= MAX_LOCKS:
            return False
        self._locks[key] = Lock(client, now + LOCK_LIVES_NS)
        return True
