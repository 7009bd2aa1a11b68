"""``query-by-key``: a query by key finds exactly the messages of the topic that have the key, each once.

Checks:
- The records in the answer are byte for byte those of the log with this key and topic, stored in the query's time
  window, each once: none for an unused key, nor where the broker keeps no index (messageIndexEnable).
- If there are more than the query's maximum, they are the newest ones.
Abstains when:
- The queues of these records are incomplete (see ``audits``), as the index is written before them.
- For messages at the window's edges: the index has whole seconds since its file's first message, rounded down.
- For windows: the log's store times go back, or the broker is RocketMQ's and has several index files, as it counts the
  first entry's seconds from the previous file.
- A black box returns a message whose topic and key have the requested hash: RocketMQ's client drops it.
- The slave diverged, or lost a part of its index to a lying disk without a way to detect it (``lost_undetected``).
Source: QueryMessageProcessor.queryMessage, DefaultMessageStore.queryMessage, IndexFile.selectPhyOffset.
"""

import json
from itertools import pairwise

from ....judging.law import EventFilter
from ...event_types.answers import Answer
from ...event_types.log import Record
from ...known.audits import Listing
from ..delivery.deliver_by_tag import java_hash
from .asked import Asked, named

MOST_MESSAGES = 64
"""maxMsgsNumBatch."""
ANSWERS = frozenset({"PUT_OK", "QUERY_NOT_FOUND"})
ROUNDED_MS = 999
"""The most by which the index's time of a message is earlier than its store time."""


class QueryByKey(Asked):
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
        if not all(log.complete(queue) for queue in {each.queue for each in held}):
            return
        first, last = event.lo or 0, event.hi
        if last is not None and held and self._has_doubtful_times(event.node, log):
            return
        self.judged += 1
        who = named(event, f"for {event.message or 'an unused key'} of {event.queue}{event.window}")
        if event.status not in ANSWERS:
            self.violate(event, f"{who} {event.status}: {event.detail or 'no details'}")
            return
        answer: list[tuple[int, int]] = json.loads(event.detail or "[]")
        offsets, found = [at for at, _ in answer], dict(answer)
        most = min(event.asked or MOST_MESSAGES, MOST_MESSAGES)
        if len(answer) > most:
            self.violate(event, f"{who} with {len(answer)} records")
        elif len(found) < len(answer):
            twice = next(at for at in offsets if offsets.count(at) > 1)
            self.violate(event, f"{who} with the record at {twice} more than once")
        # A full answer has the newest messages only.
        since = min(found, default=0) if len(answer) >= most else 0
        for each in held:
            stored, digest = each.store_ms or 0, found.get(each.lo)
            is_due = first + ROUNDED_MS <= stored and (last is None or stored <= last) and each.lo >= since
            is_out = stored < first or (last is not None and last < stored - ROUNDED_MS)
            if digest != each.digest and (is_due or digest is not None):
                self.violate(event, f"{who} without the message at {each.lo}, or with other bytes")
                return
            if digest is not None and not is_out:
                del found[each.lo]
        if found and self.known.is_a_black_box(event.node):
            found = self._of_other_hashes(found, event, log)
        if found:
            self.violate(
                event, f"{who} with a record at {min(found)}, which has another key, topic or time, or is not there"
            )

    def _of_other_hashes(self, found: dict[int, int], event: Answer, log: Listing) -> dict[int, int]:
        """Without records that the index cannot tell from the requested ones."""
        wanted = java_hash(f"{event.queue}#{event.message}")
        alike = {
            each.lo
            for each in log.records
            for key in (each.message or "").split(" ")
            if each.lo in found and java_hash(f"{each.queue.rpartition('/')[0]}#{key}") == wanted
        }
        return {lo: digest for lo, digest in found.items() if lo not in alike}

    def _has_doubtful_times(self, node: str, log: Listing) -> bool:
        if any(later.store_ms < earlier.store_ms for earlier, later in pairwise(log.records)):
            return True
        if not self.known.is_a_black_box(node):
            return False
        return sum(map(_keys, log.records)) >= int(self.known.setting(node, "maxIndexNum"))


def _keys(record: Record) -> int:
    return len((record.message or "").split(" "))
