"""The results of the last audit of each node's store: its records and the entries of its queues.

A queue is *complete* if its entries, as the store reader read them, match the records of the log. Otherwise the broker
has not derived them yet, or wrongly, which the ``queue-`` laws judge.

Left out: audits that compare logs and list no records. Bounded by the records of two audits of each broker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from ...history import Event
from ..event_types.log import Audit, Entries, Record
from ..naming import span
from ..topology import NODES


@dataclass(slots=True, eq=False)
class Listing:
    number: int | None
    since: int
    """The first event of the audit."""
    records: list[Record] = field(default_factory=list)
    entries: dict[str, Entries] = field(default_factory=dict)
    read: Audit | None = None
    """None until the audit is done."""
    _of: dict[str, list[Record]] | None = None

    def of(self, queue: str | None) -> list[Record]:
        if self._of is None:
            self._of = defaultdict(list)
            for each in self.records:
                self._of[each.queue].append(each)
        return self._of.get(queue or "", [])

    def complete(self, queue: str | None) -> bool:
        """Whether the queue's entries are those of its records."""
        entries, records = self.entries.get(queue or ""), self.of(queue)
        if entries is None or not records:
            return False
        return [each.queue_offset for each in records] == list(range(entries.first or 0, entries.following or 0))

    @property
    def derived(self) -> bool:
        return all(map(self.complete, {each.queue for each in self.records}))


class Audits:
    def __init__(self) -> None:
        self.last: dict[str, Listing] = {}
        """By node: the current or last audit."""
        self.final: dict[str, Listing] = {}
        """By broker of the pair: its last final audit."""

    def records(self, event: Event) -> list[Record]:
        """The records of the event's node that the event's audit has listed so far."""
        found = self.last.get(event.node or "")
        return found.records if found is not None and found.number == event.op else []

    def held(self, node: str) -> set[str | None]:
        """The messages that a node's last final audit listed."""
        return {each.message for each in self.final[node].records}

    def held_elsewhere(self, *but: str) -> set[str | None]:
        """The messages of all brokers except some."""
        return set[str | None]().union(*(self.held(node) for node in self.final if node not in but))

    def record(self, event: Event) -> None:
        """Callers other than laws may pass plain rows, here and below."""
        self._listing(event).records.append(cast(Record, event))

    def entry(self, event: Entries) -> None:
        found = self.last.get(event.node)
        if found is not None and found.number == event.op:
            found.entries[event.queue] = event

    def audit(self, event: Event) -> None:
        """The store reader is done; an audit without records lists none."""
        if event.f == "compare":
            return
        found = self._listing(event)
        found.read = cast(Audit, event)
        if event.f == "final" and event.node in NODES:
            self.final[event.node] = found

    def _listing(self, event: Event) -> Listing:
        node = event.node or ""
        found = self.last.get(node)
        if found is None or found.number != event.op:
            found = self.last[node] = Listing(event.op, event.seq)
        return found


def whereabouts(events: Iterable[Event]) -> Mapping[str, Mapping[str, str]]:
    """By node with a final audit: each message that the last one listed, and its bytes of the log."""
    audits = Audits()
    for event in events:
        if event.kind == "record":
            audits.record(event)
        elif event.kind == "audit":
            audits.audit(event)
    return {
        node: {each.message or "": span(each.lo, each.hi) for each in found.records}
        for node, found in audits.final.items()
    }
