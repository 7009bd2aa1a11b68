"""``queue-derived-equal``: consume queues of two nodes agree over what both hold, and their key indexes give the same
answers.

``queue-whole-records`` checks that queues are complete, ``queue-is-its-log`` that they are right.

Checks:
- For each queue, in an audit of two running nodes, the digests of the entries at the logical offsets that both hold;
  the two must have the same range.
- For each key, the digests of the log offsets that both logs hold, if both nodes keep an index (messageIndexEnable) and
  must have dispatched all their records (see :mod:`pairproof.harness.rocketmq.known.dispatched`).
Abstains when:
- A lying disk lost a part of the queues undetectably (:mod:`pairproof.harness.rocketmq.known.lost_undetected`).
- The slave diverged, or the log begins before a promoted slave's (see ``known``).
- All of a queue's messages on one node have expired on the other, which may begin the queue again at 0.
Source: ConsumeQueue, IndexService: each node derives them from its own log.
"""

from ....event_types.node import Wipe
from ....history import Event
from ....judging.law import DURABILITY
from ...event_types.log import Entries, Expire, Keys
from ...known.circumstances import DIVERGED, LONGER, LOST_UNDETECTED
from ...known.derived_under import DELAYED
from ...law import Law


class QueueDerivedEqual(Law):
    kind = DURABILITY
    needs = frozenset({"entries", "keys"})

    def begin(self) -> None:
        self.expired: dict[str, int] = {}
        self.audit: int | None = None
        self.seen: dict[tuple[str, str | None], Event] = {}
        """By event type and queue or key: the first event of the present audit."""
        self.settled: dict[str, bool] = {}
        """By node, in the present audit: whether it has dispatched all its records."""

    def on_wipe(self, event: Wipe) -> None:
        self.expired.pop(event.node, None)

    def on_expire(self, event: Expire) -> None:
        self.expired[event.node] = event.new_start

    def on_entries(self, event: Entries) -> None:
        other = self._other(event.queue, event)
        if other is None or self._has_expired(event, other.node) or self._has_expired(other, event.node):
            return
        self.judged += 1
        if other.queue_offset != event.compared_from or other.digest != event.digest:
            levels = self.known.derived_under.levels(other.node or "", event.node)
            why = f"{levels}: " if levels and event.queue.startswith(DELAYED) else ""
            what = f"{why}the entries of {event.queue} from {event.compared_from} on"
            self.violate(event, f"{what} differ between {other.node} and {event.node}")

    def on_keys(self, event: Keys) -> None:
        other = self._other(event.message, event)
        if other is None or not (self._is_settled(event) and self._is_settled(other)):
            return
        self.judged += 1
        if other.digest != event.digest:
            self.violate(event, f"the key {event.message} leads to other messages on {other.node} than on {event.node}")

    def _has_expired(self, entries: Event, node: str | None) -> bool:
        """Whether all messages of a queue have expired on another node."""
        return entries.value is not None and entries.value <= self.expired.get(node or "", 0)

    def _other(self, name: str | None, event: Entries | Keys) -> Event | None:
        """The same audit's event of another node, if the two are comparable."""
        if event.audit != self.audit:
            self.audit, self.seen, self.settled = event.audit, {}, {}
        other = self.seen.setdefault((event.kind, name), event)
        if other.node == event.node or not {other.node, event.node} <= self.known.up:
            return None
        abstains = (self.abstains(each, DIVERGED, LOST_UNDETECTED, LONGER) for each in (other, event))
        return None if any(abstains) else other

    def _is_settled(self, event: Event) -> bool:
        node = event.node or ""
        found = self.settled.get(node)
        if found is None:
            found = self.settled[node] = self.known.keeps_index(node) and self.known.dispatched.has_all(event)
        return found
