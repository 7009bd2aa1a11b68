"""Mutants of consumers that subscribe by tag: what a broker compares, passes and wakes, and what a consumer takes."""

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
from .mutant import CONSUMER, seeded, seeded_in


@seeded("master", "deliver-by-tag", "compares hashes of tags without their sign")
class ComparesWithoutSign(Pulling):
    def _filter(self, request: Request) -> tuple[Takes | None, tuple[int, str] | None]:
        takes, unknown = super()._filter(request)
        if takes is None:
            return None, unknown
        return lambda entry: takes(entry._replace(tags_code=entry.tags_code & 0xFFFF_FFFF)), unknown


@seeded("master", "pull-goes-on", "sends a reader for whom nothing matches back to where it was")
class StaysAtUnmatched(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        return found._replace(next_offset=offset) if found.status == "NO_MATCHED_MESSAGE" else found


@seeded("master", "pull-answered", "does not wake pulls by tag when a message comes for them")
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


@seeded(CONSUMER, "deliver-by-tag", "takes whatever has the hash of a tag that it wants")
class TrustsHashes(ConsumersPulling):
    def wants(self, message: Record) -> bool:
        codes = self.subscriptions[message.message.topic].code_set
        tag = properties_of(message.message.properties).get(TAGS, "")
        return not codes or java_hash(tag) in codes


@seeded(CONSUMER, "deliver-no-loss", "takes only messages with the first of several tags that it wants")
class WantsFirstTag(ConsumersPulling):
    def wants(self, message: Record) -> bool:
        tags = self.subscriptions[message.message.topic].tags_set[:1]
        return not tags or properties_of(message.message.properties).get(TAGS) in tags


@seeded("slave", "queue-is-its-log", "derives queues again after a restart without the hashes of tags")
class RecoversWithoutTags(ConsumeQueues):
    recovered = 0
    """Where the log ended then."""

    def truncate(self, log_end: int) -> None:
        super().truncate(log_end)
        self.recovered = max(self.recovered, log_end)

    def put(self, topic: str, queue_id: int, offset: int, entry: Entry) -> bool:
        is_old = entry.physical_offset < self.recovered and topic != SCHEDULE_TOPIC
        return super().put(topic, queue_id, offset, entry._replace(tags_code=0) if is_old else entry)


BY_TAG = seeded_in(__name__)
