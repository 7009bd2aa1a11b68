"""``query-by-key``: a query by key finds exactly the messages of the topic that have the key.

Checks:
- The records in the answer, each once or more, are byte for byte those of the log with this key and topic: none for an
  unused key, nor where the broker keeps no index (messageIndexEnable).
Abstains when:
- The queues of these records are incomplete (see ``audits``), as the index is written before them.
- More than 64 messages have the key: a broker returns some of them.
- The slave diverged, or lost a part of its index to a lying disk without a way to detect it (``lost_undetected``).
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
        who = named(event, f"for {event.message or 'an unused key'} of {event.queue}")
        if event.status not in ANSWERS:
            self.violate(event, f"{who} {event.status}: {event.detail or 'no details'}")
            return
        found: dict[int, int] = dict(json.loads(event.detail or "[]"))
        for each in held:
            if found.pop(each.lo, None) != each.digest:
                self.violate(event, f"{who} without the message at {each.lo}, or with other bytes")
                return
        if found:
            self.violate(event, f"{who} with a record at {min(found)}, which has another key or topic, or is not there")
