"""Queue locks of an orderly consumer: a queue is consumed only under its lock.

The master grants locks; without one nothing is locked. They are renewed every 20 s and count for 30 s after their
request, half of the broker's time, so that two consumers never hold the same one. Calls end after 1 s. Source:
RebalanceImpl.lock and lockAll, ProcessQueue.REBALANCE_LOCK_MAX_LIVE_TIME.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ..core.calls import Outcome
from ..wire import beans
from ..wire.bodies_client import LockBatchRequest, LockBatchResponse, MessageQueue
from ..wire.headers import RequestCode
from .asking import ask, body_of
from .process_queue import Shared
from .routes import MASTER_ID
from .settings import SECOND

RENEW_NS = 20 * SECOND
COUNTS_NS = 30 * SECOND
CALL_NS = 1 * SECOND


class QueueLocking:
    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def lock(self, queue: MessageQueue, done: Callable[[int], None]) -> None:
        """Request one lock; ``done`` receives its expiry, 0 if it was refused."""

        def ended(locked: set[MessageQueue] | None, until: int) -> None:
            done(until if locked and queue in locked else 0)

        self._ask(queue.broker_name, (queue,), ended)

    def renew(self) -> None:
        shared = self.shared
        shared.alarms.after(RENEW_NS, "locks")
        by_broker: dict[str, list[MessageQueue]] = {}
        for queue in shared.held:
            by_broker.setdefault(queue.broker_name, []).append(queue)
        for broker_name, queues in by_broker.items():
            self._ask(broker_name, queues, partial(self._renewed, queues))

    def _renewed(self, queues: list[MessageQueue], locked: set[MessageQueue] | None, until: int) -> None:
        if locked is None:
            # Unknown: an earlier grant still counts until its end.
            return
        for queue in queues:
            held = self.shared.held.get(queue)
            if held is not None:
                held.locked_until = until if queue in locked else 0

    def unlock(self, queue: MessageQueue) -> None:
        choice = self.shared.routes.choose(queue.broker_name, MASTER_ID, only_this=True)
        if choice is not None:
            body = beans.encode(self._request((queue,)))
            ask(self.shared.calls, choice.address, RequestCode.UNLOCK_BATCH_MQ, {}, lambda outcome: None, body, CALL_NS)

    def _ask(
        self, broker_name: str, queues: Iterable[MessageQueue], done: Callable[[set[MessageQueue] | None, int], None]
    ) -> None:
        """Which of them are locked, None if unknown, and until when."""
        until = self.shared.io.now() + COUNTS_NS

        def ended(outcome: Outcome) -> None:
            found = body_of(LockBatchResponse, outcome)
            done(None if found is None else set(found.lock_ok_mq_set), until)

        choice = self.shared.routes.choose(broker_name, MASTER_ID, only_this=True)
        if choice is None:
            done(None, until)
            return
        body = beans.encode(self._request(queues))
        ask(self.shared.calls, choice.address, RequestCode.LOCK_BATCH_MQ, {}, ended, body, CALL_NS)

    def _request(self, queues: Iterable[MessageQueue]) -> LockBatchRequest:
        settings = self.shared.settings
        return LockBatchRequest(settings.group, settings.client_id, tuple(queues))
