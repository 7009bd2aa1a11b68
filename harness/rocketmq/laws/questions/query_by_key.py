"""``query-by-key``: a query by key finds exactly the messages of the topic that have the key.

The records that a broker answers with, each once or more, are those that its log lists with this key and topic, byte
for byte; for a key that nobody sent there are none, nor for any where the broker keeps no index (messageIndexEnable).
Judged where the queues of these records are complete (see ``audits``): the index is written before them. Left out: more
than 64 messages with one key, of which a broker answers with some; diverged slaves; nodes that a lying disk
has left without a part of their index, and that could not know it (``lost_undetected``). What stores hold of the
index, see
``queue-derived-equal``.
Source: QueryMessageProcessor.queryMessage, DefaultMessageStore.queryMessage.
"""

import json

from ....judging.law import EventFilter
from ...event_types.answers import Answer
from ...known.audits import Listing
from .asked import Asked, named

MOST_MESSAGES = 64
"""maxMsgsNumBatch."""
ANSWERS = frozenset({"PUT_OK", "QUERY_NOT_FOUND"})


class QueryByKey(Asked):
    id = "query-by-key"
    promise = "A query by key finds exactly the messages of the topic that have the key."
    source = "QueryMessageProcessor.queryMessage; DefaultMessageStore.queryMessage"
    needs = frozenset({"answer", "record", "audit", "entries"})
    subjects = frozenset({"key"})
    awaits = {"answer": EventFilter(subjects)}

    def judge(self, event: Answer, log: Listing) -> None:
        indexed = self.known.derived_under.indexed(event.node)
        if event.node in self.known.lost_undetected or indexed is None:
            return
        asked = event.message and indexed
        held = [
            each
            for each in (log.records if asked else ())
            if event.message in (each.message or "").split(" ") and each.queue.rpartition("/")[0] == event.queue
        ]
        if len(held) > MOST_MESSAGES or not all(log.complete(queue) for queue in {each.queue for each in held}):
            return
        self.judged += 1
        who = named(event, f"for {event.message or 'a key that nobody sent'} of {event.queue}")
        if event.status not in ANSWERS:
            self.violate(event, f"{who} {event.status}: {event.detail or 'no more is known'}")
            return
        found: dict[int, int] = dict(json.loads(event.detail or "[]"))
        for each in held:
            if found.pop(each.lo, None) != each.digest:
                self.violate(event, f"{who} without the message at {each.lo}, or with other bytes")
                return
        if found:
            self.violate(event, f"{who} with a record at {min(found)}, which has another key or topic, or is not there")
