"""Mutants of rare message features: tags, batches, several keys, a free choice of the queue, new topics."""

from collections.abc import Sequence

from ...reference.core.key_index import KeyIndex
from ...reference.core.processors.pulling import Pulling
from ...reference.core.processors.sending import Sending
from ...reference.core.reading import Found, Reader, Takes
from ...reference.core.requests import Request
from ...reference.core.store import MessageStore, Stored
from ...reference.errors import CodecError
from ...reference.wire import remoting
from ...reference.wire.record import Message
from .mutant import seeded


@seeded("master", "deliver-by-tag", "returns every message, ignoring the requested tags")
class TakesAllTags(Pulling):
    def _filter(self, request: Request) -> None:
        super()._filter(request)


@seeded("slave", "deliver-by-tag", "moves a reader of other tags than the first message's to the queue's end")
class GivesUpAtFirst(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        first = self.store.queues.get(topic, queue_id, offset, 1)
        if takes is None or not first or takes(first[0]):
            return found
        return found._replace(status="NO_MATCHED_MESSAGE", next_offset=found.high, messages=())


@seeded("master", "query-by-key", "indexes only the first of several keys")
class IndexesFirstKey(KeyIndex):
    def put(self, topic: str, keys: list[str], offset: int, store_ms: int) -> None:
        super().put(topic, keys[:1], offset, store_ms)


@seeded("master", "stored-as-sent", "stores copies of a batch's first message instead of all")
class RepeatsFirst(Sending):
    def _put(self, messages: list[Message]) -> list[Stored]:
        return super()._put([messages[0]] * len(messages))


@seeded("master", "queue-dense", "gives all messages of a batch one queue offset")
class CountsBatchOnce(MessageStore):
    def put_batch(self, messages: Sequence[Message]) -> list[Stored]:
        self._catch_up()
        first = self.queue_offset_for(messages[0])
        self._record_filler(self.log.make_room(messages))
        stored = [self._append(each, first) for each in messages]
        self._dispatch_put(messages[0], stored[-1])
        return stored


@seeded("master", "valid-taken", "refuses batches")
class RefusesBatches(Sending):
    def _batch(self, request: Request, topic: str, queue_id: int) -> list[Message]:
        raise CodecError("a batch of messages")


@seeded("master", "valid-taken", "fails at a message without a body", seen_in="5.0 to 5.5.0")
class FailsOverEmptySends(Sending):
    def on_send(self, request: Request) -> None:
        if not request.command.body:
            request.refuse(remoting.SYSTEM_ERROR, "java.lang.NullPointerException")
        else:
            super().on_send(request)


@seeded("master", "stored-as-sent", "answers every producer with the first queue")
class TellsFirstQueue(Sending):
    def answer(self, request: Request, ids: list[str], queue_id: int, queue_offset: int, status: str) -> None:
        super().answer(request, ids, 0, queue_offset, status)


@seeded("master", "stored-as-sent", "drops the flag of a compressed body")
class ForgetsCompression(Sending):
    def _put(self, messages: list[Message]) -> list[Stored]:
        return super()._put([each._replace(sys_flag=each.sys_flag & ~1) for each in messages])
