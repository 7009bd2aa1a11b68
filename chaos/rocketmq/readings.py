"""Converts rows of real-time labs' brokers and HA taps into events, and tracks the state that the trial needs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...harness.event_types.node import UNKNOWN
from ...harness.history import Event, kinds
from ..labs.real.evidence import Evidence, Incarnation, Readings
from ..plan import SeenFromOutside
from .context import Context
from .outside.dates import dated
from .settled import settled
from .traced import KINDS

OF_TAPS = {"answered": "register", "fetched": "sync"}
"""Taps' rows about a broker, and their event types."""


class TracedReadings(Readings, Context):
    """One trial's readings and its clients' context. The columns of rows:
    :data:`pairproof.chaos.rocketmq.traced.KINDS`.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.add = evidence.add
        self.now = evidence.now
        self.node_at = evidence.node_at
        self.reporting_slaves: set[str] = set()
        """Slaves whose reports have reached the master."""
        self.dispatched: dict[str, int] = {}
        self.registered: set[tuple[str, int]] = set()
        """Nodes and incarnations that a name server has answered."""
        self.refusals: Counter[str] = Counter()
        self.copies: dict[str, dict[str, int]] = {}
        """By slave and table, for its present incarnation: when it requested the table that it then received, ns."""
        self._asked: dict[tuple[str, str], int] = {}
        self._peers: dict[str, tuple[str, str]] = {}
        """By the address that the master sees: label and owner of an HA connection."""

    # The clients' context.

    def end_of_record(self, node: str, lo: int) -> int | None:
        """Only known to its trace: :meth:`merge_traces` adds it."""
        return None

    # Rows.

    def event(self, incarnation: Incarnation, t: int, kind: str, columns: list[Any]) -> Event | None:
        if kind == "claimed":
            self._claimed(t, *columns)
            return None
        if kind in OF_TAPS:
            who, *columns = columns
            its = self.evidence.incarnation_at(who, t)
            # A node that traces itself reports this, too.
            if its is None or not isinstance(its.trace, SeenFromOutside):
                return None
            incarnation, kind = its, OF_TAPS[kind]
        self._note(incarnation, t, kind, columns)
        event = _event(t, incarnation, kind, columns)
        if event is None or kind not in ("register", "refused"):
            return event
        if kind == "register":
            return event._replace(detail=self._told(columns[1:3]))
        if columns[0] not in self._peers:
            self.evidence.listened()
        label, who = self._peers.get(columns[0], (None, ""))
        self.refusals[who] += 1
        return event._replace(link=label)

    def _note(self, incarnation: Incarnation, t: int, kind: str, columns: list[Any]) -> None:
        node, who, ends = incarnation.node, (incarnation.node, incarnation.incarnation), self.evidence.log_ends
        match kind, columns:
            case "start", [how, _, int(hi)]:
                ends[node] = self.dispatched[node] = hi
                # The reference's recovery flushes, RocketMQ's does not.
                self.evidence.flushed[node] = min(hi, self.evidence.flushed.get(node, 0)) if how == UNKNOWN else hi
                self.copies.pop(node, None)
            case "flush", [int(hi)]:
                self.evidence.flushed[node] = hi
            case "append", [_, int(hi), *_]:
                ends[node] = max(hi, ends.get(node, 0))
            case "dispatch", [int(hi)]:
                self.dispatched[node] = hi
            case "register", ["ok", *_]:
                self.registered.add(who)
            case "sync", [str(table), "asked"]:
                self._asked[node, table] = t
            case "sync", [str(table), str(status)]:
                asked = self._asked.pop((node, table), None)
                if asked is not None and status != "failed":
                    self.copies.setdefault(node, {})[table] = asked
            case "met", [str(address), str(label), str(peer)]:
                self._peers[address] = label, peer
            case "heard", [str(peer)]:
                self.reporting_slaves.add(peer)

    def _claimed(self, t: int, who: str, end: int) -> None:
        """A slave reports its log end: seen from outside, files show whole records only.

        After a divergence it may have stored a part of one.
        """
        its, ends = self.evidence.incarnation_at(who, t), self.evidence.log_ends
        if its is None or its is not self.evidence.incarnation_at(who, self.evidence.now()):
            return
        if isinstance(its.trace, SeenFromOutside):
            ends[who] = max(end, ends.get(who, 0))

    def _told(self, answered: Iterable[object]) -> str:
        pairs = zip(("master", "ha"), answered, strict=True)
        return json.dumps({key: self.node_at(str(each)) for key, each in pairs if each}, sort_keys=True)

    def merged(self, events: Iterable[Event], starts: Mapping[tuple[str, int], int]) -> Iterator[Event]:
        weaver = _Weaver()
        for event in settled(list(dated(events, starts))):
            yield from weaver.feed(event)


class _Weaver:
    """Completes events from others: the end of a sent message's record, the bytes that a start has truncated."""

    def __init__(self) -> None:
        self.ends: dict[str, int] = {}
        self.records: dict[tuple[str | None, int], int] = {}

    def feed(self, event: Event) -> list[Event]:
        """The completed event, and those that follow from it."""
        node, found = event.node or "", [event]
        match event.kind:
            case "append":
                self.ends[node] = event.hi or 0
                if event.f == "put":
                    self.records[node, event.lo or 0] = event.hi or 0
            case "start":
                before, end = self.ends.get(node, 0), event.hi or 0
                if end < before:
                    found.append(kinds()["cut"](0, event.t, "cut", node, event.incarnation, lo=end, hi=before))
                if event.hi is not None:
                    self.ends[node] = end
            case "wipe":
                self.ends.pop(node, None)
            case "ok" if event.f == "send" and event.lo is not None:
                found[0] = event._replace(hi=self.records.get((event.node, event.lo)))
        return found


def _event(t: int, incarnation: Incarnation, kind: str, columns: list[Any]) -> Event | None:
    """A trace's row as an event; None for one without an event type."""
    named = "diverged" if kind == "refused" else kind
    if named not in kinds():
        return None
    found = {name: value for name, value in zip(KINDS[kind], columns, strict=True) if name in Event._fields}
    return kinds()[named](0, t, named, incarnation.node, incarnation.incarnation, **found)
