"""``queue-derived-equal``: what nodes derive from the same log is the same: queues, and answers of the key index.

A store reader that reads two nodes at one moment digests each queue's entries over the logical offsets that both hold,
and for each key the log offsets that both logs hold; the digests must be equal, and the two must mean the same range.
Judged while both nodes run.

The index's answers are judged only where both nodes must have dispatched all that they hold (see
:mod:`pairproof.harness.rocketmq.known.dispatched`), and only if both keep one (messageIndexEnable).

Left out: nodes that a lying disk has left without a part of their queues, and that could not know it
(:mod:`pairproof.harness.rocketmq.known.lost_undetected`); diverged slaves, and logs that begin before that of a slave
which was promoted (see ``known``); queues of which one node holds only what has expired on the other, which may begin
them again at 0 if it lost them; that queues are complete, see ``queue-whole-records``; and that they are right, see
``queue-is-its-log``.
Source: ConsumeQueue, IndexService.
"""

from ....event_types.node import Wipe
from ....history import Event
from ....judging.law import DURABILITY
from ...event_types.log import Entries, Expire, Keys
from ...known.circumstances import DIVERGED, LONGER, LOST_UNDETECTED
from ...known.derived_under import DELAYED
from ...law import Law


class QueueDerivedEqual(Law):
    id = "queue-derived-equal"
    kind = DURABILITY
    promise = "Consume queues of two nodes agree over what both hold, and their key indexes give the same answers."
    source = "ConsumeQueue and IndexService: each node derives them from its own log"
    needs = frozenset({"entries", "keys"})

    def begin(self) -> None:
        self.expired: dict[str, int] = {}
        """By node, where its log began when files last expired."""
        self.audit: int | None = None
        self.seen: dict[tuple[str, str | None], Event] = {}
        """What the present audit read first of each queue and key."""
        self.settled: dict[str, bool] = {}
        """Of the present audit: whether nodes have dispatched what they hold."""

    def on_wipe(self, event: Wipe) -> None:
        self.expired.pop(event.node, None)

    def on_expire(self, event: Expire) -> None:
        self.expired[event.node] = event.new_start

    def on_entries(self, event: Entries) -> None:
        """A queue was read; compared when the other node's was."""
        other = self._other(event.queue, event)
        if other is None or self._lies_before(event, other.node) or self._lies_before(other, event.node):
            return
        self.judged += 1
        if other.queue_offset != event.compared_from or other.digest != event.digest:
            levels = self.known.derived_under.levels(other.node or "", event.node)
            why = f"{levels}: " if levels and event.queue.startswith(DELAYED) else ""
            self.violate(
                event, f"{why}the entries of {event.queue} from {event.compared_from} on are not the same on "
                f"{other.node} and {event.node}"
            )  # fmt: skip

    def on_keys(self, event: Keys) -> None:
        other = self._other(event.message, event)
        if other is None or not (self._is_settled(event) and self._is_settled(other)):
            return
        self.judged += 1
        if other.digest != event.digest:
            self.violate(event, f"the key {event.message} leads to other messages on {other.node} than on {event.node}")

    def _lies_before(self, entries: Event, node: str | None) -> bool:
        """Whether all messages of a queue that was read lie where they have expired on another node."""
        return entries.value is not None and entries.value <= self.expired.get(node or "", 0)

    def _other(self, name: str | None, event: Entries | Keys) -> Event | None:
        """What the same audit read of another node, if the two may be compared."""
        if event.audit != self.audit:
            self.audit, self.seen, self.settled = event.audit, {}, {}
        other = self.seen.setdefault((event.kind, name), event)
        if other.node == event.node or not {other.node, event.node} <= self.known.up:
            return None
        abstains = (self.abstains(each, DIVERGED, LOST_UNDETECTED, LONGER) for each in (other, event))
        return None if any(abstains) else other

    def _is_settled(self, event: Event) -> bool:
        """Whether a node that was just read has dispatched and indexed all the whole records that it holds."""
        node = event.node or ""
        found = self.settled.get(node)
        if found is None:
            found = self.settled[node] = self.known.keeps_index(node) and self.known.dispatched.has_all(event)
        return found
