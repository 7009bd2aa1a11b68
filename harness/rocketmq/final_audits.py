"""Which messages each broker's log holds at the end: the records that its last final audit lists.

Left out: audits that are not final, and those of name servers and of other broker names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pairproof.harness.history import Event
from pairproof.harness.rocketmq.naming import span
from pairproof.harness.rocketmq.places import MASTER, NODES


class FinalAudits:
    """Tell it of every ``record`` and ``audit`` event, in ``seq`` order. Bounded by the records of one trial."""

    def __init__(self) -> None:
        self.held: dict[str, set[str | None]] = {}
        """By node that had a final audit: the messages that the last one listed."""
        self._listing: dict[str, tuple[int | None, set[str | None]]] = {}
        """By node: the audit that is under way, or was the last, and the messages that it lists."""

    @property
    def has_master(self) -> bool:
        """Whether it is known what the master holds: without that no message can be called lost."""
        return MASTER in self.held

    def anywhere(self) -> set[str | None]:
        return set().union(*self.held.values())

    def found(self, event: Event) -> None:
        """A store reader found a record."""
        node = event.node or ""
        if node not in self._listing or self._listing[node][0] != event.op:
            self._listing[node] = event.op, set()
        self._listing[node][1].add(event.message)

    def audited(self, event: Event) -> None:
        """A store reader is done; an audit without records lists none."""
        node = event.node or ""
        if event.f == "final" and node in NODES:
            op, messages = self._listing.get(node, (None, set()))
            self.held[node] = messages if op == event.op else set()


def whereabouts(events: Iterable[Event]) -> Mapping[str, Mapping[str, str]]:
    """By node that had a final audit: each message that the last one listed, and its bytes of the log."""
    listed: dict[tuple[str, int | None], dict[str, str]] = {}
    found: dict[str, Mapping[str, str]] = {}
    for event in events:
        key = (event.node or "", event.op)
        if event.kind == "record":
            listed.setdefault(key, {})[event.message or ""] = span(event.lo, event.hi)
        elif event.kind == "audit" and event.f == "final" and key[0] in NODES:
            found[key[0]] = listed.get(key, {})
    return found
