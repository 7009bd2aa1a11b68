"""Mutants of subscriptions by tag: the broker's comparison and wake-ups, and the consumer's filter."""

from __future__ import annotations

from ...reference.client.pulling import Pulling as ConsumersPulling
from ...reference.core.consume_queue import Entry
from ...reference.core.consume_queues import ConsumeQueues
from ...reference.core.delay import SCHEDULE_TOPIC
from ...reference.core.processors.pulling import Pulling
from ...reference.core.reading import Found, Reader, Takes
from ...reference.core.requests import Request
from ...reference.wire.properties import TAGS, java_hash, properties_of
from ...reference.wire.record import Record
from .mutant import CONSUMER, seeded


@seeded("master", "deliver-by-tag", "compares hashes of tags without their sign bit")
class ComparesWithoutSign(Pulling):
    def _filter(self, request: Request) -> Takes | None:
        takes = super()._filter(request)
        return takes and (lambda entry: takes(entry._replace(tags_code=entry.tags_code & 0xFFFF_FFFF)))


@seeded("master", "pull-goes-on", "returns a reader without matches to its old offset")
class StaysAtUnmatched(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        return found._replace(next_offset=offset) if found.status == "NO_MATCHED_MESSAGE" else found


@seeded("master", "pull-answered", "does not wake pulls by tag when a matching message arrives")
class WakesOnlyTakers(Pulling):
    def arrived(self, topic: str, queue_id: int, next_offset: int, tags_code: int) -> None:
        held = self.held.get((topic, queue_id), ())
        waits = [each for each in held if each.takes is not None]
        if not waits:
            super().arrived(topic, queue_id, next_offset, tags_code)
            return
        for each in self._taken(topic, queue_id):
            if each.takes is None:
                self._answer(each, may_hold=False)
            else:
                self._hold(each)


@seeded(CONSUMER, "deliver-by-tag", "accepts any message with the hash of a subscribed tag")
class TrustsHashes(ConsumersPulling):
    def wants(self, message: Record) -> bool:
        codes = self.subscriptions[message.message.topic].code_set
        tag = properties_of(message.message.properties).get(TAGS, "")
        return not codes or java_hash(tag) in codes


@seeded(CONSUMER, "deliver-no-loss", "accepts only the first of several subscribed tags")
class WantsFirstTag(ConsumersPulling):
    def wants(self, message: Record) -> bool:
        tags = self.subscriptions[message.message.topic].tags_set[:1]
        return not tags or properties_of(message.message.properties).get(TAGS) in tags


@seeded("slave", "queue-is-its-log", "rebuilds queues after a restart without the hashes of tags")
class RecoversWithoutTags(ConsumeQueues):
    recovered = 0

    def truncate(self, log_end: int) -> None:
        super().truncate(log_end)
        self.recovered = max(self.recovered, log_end)

    def put(self, topic: str, queue_id: int, offset: int, entry: Entry) -> bool:
        is_old = entry.physical_offset < self.recovered and topic != SCHEDULE_TOPIC
        return super().put(topic, queue_id, offset, entry._replace(tags_code=0) if is_old else entry)
