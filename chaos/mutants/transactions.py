"""Mutants of transactions: a master's half messages, and their ends."""

from __future__ import annotations

from ...reference.core.processors.sending import Sending
from ...reference.core.processors.transactions import COMMIT, HALF_TOPIC, ROLLBACK, Transactions
from ...reference.core.requests import Request
from ...reference.wire.properties import properties_of
from ...reference.wire.record import Message, Record
from .mutant import seeded


@seeded("master", "transact-hidden", "puts half messages straight into their queues")
class HidesNoHalf(Sending):
    def _single(self, request: Request, topic: str, queue_id: int) -> list[Message]:
        found = super()._single(request, topic, queue_id)
        return [_shown(each) if each.topic == HALF_TOPIC else each for each in found]


@seeded("master", "transact-hidden", "stores the message of a transaction that is rolled back")
class CommitsRollbacks(Transactions):
    def _store(self, request: Request, half: Record, decision: int) -> None:
        if decision == ROLLBACK:
            self.parts.puts.put(self.committed(half))
        super()._store(request, half, decision)


@seeded("master", "transact-committed", "confirms a commit, and only records the end")
class CommitsNothing(Transactions):
    def _store(self, request: Request, half: Record, decision: int) -> None:
        super()._store(request, half, ROLLBACK)


@seeded("master", "transact-committed", "stores a message once more for each commit")
class CommitsTwice(Transactions):
    def _store(self, request: Request, half: Record, decision: int) -> None:
        if decision == COMMIT:
            self.parts.puts.put(self.committed(half))
        super()._store(request, half, decision)


@seeded("master", "transact-committed", "does not mark committed messages as such")
class CommitsUnmarked(Transactions):
    def committed(self, half: Record) -> Message:
        return super().committed(half)._replace(sys_flag=half.message.sys_flag)


@seeded("master", "transact-committed", "drops a committed message's reference to its half message")
class ForgetsHalf(Transactions):
    def committed(self, half: Record) -> Message:
        return super().committed(half)._replace(prepared_offset=0)


@seeded("master", "transact-committed", "commits into the half message's queue")
class CommitsToFirstQueue(Transactions):
    def committed(self, half: Record) -> Message:
        return super().committed(half)._replace(queue_id=half.message.queue_id)


@seeded("master", "transact-noted", "does not record a rollback")
class NotesNoRollback(Transactions):
    def _store(self, request: Request, half: Record, decision: int) -> None:
        if decision == ROLLBACK:
            request.answer()
        else:
            super()._store(request, half, decision)


@seeded("master", "transact-noted", "records a half message's log offset instead of its queue offset")
class NotesPlace(Transactions):
    def _op_message(self, half: Record) -> Message:
        return super()._op_message(half)._replace(body=str(half.physical_offset).encode())


def _shown(half: Message) -> Message:
    """A half message with its final topic and queue."""
    properties = properties_of(half.properties)
    return half._replace(topic=properties["REAL_TOPIC"], queue_id=int(properties["REAL_QID"]))
