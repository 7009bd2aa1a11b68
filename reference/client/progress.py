"""A group's progress: queried from brokers when a queue is taken, committed while it is consumed.

Both use the master; if the route has none, the route is refreshed, and then any broker of the name is used. All queues
are committed every 5 s, changed or not, so that a master that restarted with old offsets is corrected soon. Unlike
RocketMQ's, these commits request an answer, for the lab. A queue is skipped while its last commit is in flight; calls
end after 5 s.

A queue without progress begins at its first offset, or after its last; only the master is asked. (RocketMQ takes 0 for
a first offset, and lets the first pull correct it.) Broadcasting consumers hold their own progress in memory, and lose
it at their end. Source: RemoteBrokerOffsetStore, LocalFileOffsetStore,
RebalancePushImpl.computePullFromWhereWithException.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..core.calls import Outcome
from ..wire.bodies_client import MessageQueue
from . import admin
from .process_queue import ProcessQueue, Shared
from .routes import MASTER_ID, Choice
from .settings import SECOND

COMMIT_EVERY_NS = 5 * SECOND
CALL_NS = 5 * SECOND


class Progress:
    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.local: dict[MessageQueue, int] = {}

    def target(self, queue: MessageQueue, refreshed: bool) -> Choice | None:
        """The broker for queries and commits; None: refresh the route first."""
        return self.shared.routes.choose(queue.broker_name, MASTER_ID, only_this=not refreshed)

    def commits(self, held: ProcessQueue) -> bool:
        return self.shared.holds(held) and not held.committing

    def start_offset(self, queue: MessageQueue, done: Callable[[int | None], None]) -> None:
        """Call ``done`` with the queue's start offset; None if no broker could be asked."""
        if self.shared.settings.broadcasting:
            known = self.local.get(queue)
            if known is None:
                self._boundary(queue, done)
            else:
                done(known)
            return
        self._find(self.target, queue, partial(self._query, queue, done))

    def commit_all(self) -> None:
        self.shared.alarms.after(COMMIT_EVERY_NS, "commit")
        for held in list(self.shared.held.values()):
            if self.commits(held):
                self.commit(held)

    def commit(self, held: ProcessQueue, done: Callable[[], None] | None = None) -> None:
        """Commit a queue's progress; ``done`` is called when that has ended, whatever the outcome, or cannot begin."""
        if self.shared.settings.broadcasting:
            self.local[held.queue] = held.progress
            if done is not None:
                done()
            return
        held.committing = True
        self._find(self.target, held.queue, partial(self._commit, held, done))

    def _find(
        self, target: Callable[[MessageQueue, bool], Choice | None], queue: MessageQueue,
        use: Callable[[Choice | None], None],
    ) -> None:  # fmt: skip
        choice = target(queue, False)
        if choice is None:
            self.shared.routes.refresh(queue.topic, lambda: use(target(queue, True)))
        else:
            use(choice)

    def _master(self, queue: MessageQueue, refreshed: bool) -> Choice | None:
        return self.shared.routes.choose(queue.broker_name, MASTER_ID, only_this=True)

    def _query(self, queue: MessageQueue, done: Callable[[int | None], None], choice: Choice | None) -> None:
        if choice is None:
            done(None)
            return
        shared = self.shared
        op = shared.next_op()

        def ended(outcome: Outcome, offset: int | None) -> None:
            shared.listener.query_ended(op, outcome, offset)
            if outcome.phase == "ok" and offset is None:
                self._boundary(queue, done)
            else:
                done(offset)

        shared.listener.query_began(op, queue, choice.broker_id, choice.address)
        admin.query_offset(shared.calls, choice.address, shared.settings.group, queue, ended)

    def _boundary(self, queue: MessageQueue, done: Callable[[int | None], None]) -> None:
        first = self.shared.settings.consume_from_where == "CONSUME_FROM_FIRST_OFFSET"
        read = admin.min_offset if first else admin.max_offset

        def use(choice: Choice | None) -> None:
            if choice is None:
                done(None)
            else:
                read(self.shared.calls, choice.address, queue, lambda outcome, offset: done(offset))

        self._find(self._master, queue, use)

    def _commit(self, held: ProcessQueue, done: Callable[[], None] | None, choice: Choice | None) -> None:
        shared = self.shared

        def finish() -> None:
            held.committing = False
            if done is not None:
                done()

        def ended(outcome: Outcome) -> None:
            shared.listener.commit_ended(op, outcome)
            finish()

        if choice is None:
            finish()
            return
        op = shared.next_op()
        # Read it now: a pull may have carried a newer one while the route was refreshed.
        offset = held.progress
        shared.listener.commit_began(op, held.queue, offset, choice.broker_id, choice.address, False)
        group = shared.settings.group
        admin.commit_offset(shared.calls, choice.address, group, held.queue, offset, ended, timeout_ns=CALL_NS)
