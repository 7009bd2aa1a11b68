"""What stores lost of the messages that producers were told are stored: "holds" says that nothing was lost that must
not be, and an operator also wants to know what was lost.

Counted of the sends that were answered with PUT_OK. A node *loses* those whose records its log held when it crashed, or
when its store was replaced, and does not reach any more when it starts again, or at once after a crash whose loss is
known. A slave may get them again from its master, and a master's may still be on a slave; *nowhere* counts those that
no broker's log holds at the last final audit of each.

Left out: name servers and other broker names; answers that do not say where the message is; messages that a stranger's
broker stored elsewhere than it said, see ``stored-as-sent``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..history import Event
from ..kinds.client import Ok
from ..kinds.node import Crash, Start, Wipe
from .contract import PUT_OK
from .kinds.log import Append, Audit
from .known.kept import Kept
from .known.replay import Reader
from .naming import the
from .places import MASTER, NAMES, OTHER

APART = frozenset((NAMES, OTHER, None))


class Lost(NamedTuple):
    """Of one node: how many acknowledged messages, and how many bytes of its log."""

    messages: int
    bytes: int


class Losses(NamedTuple):
    """Of one trial, or of several together."""

    acknowledged: int
    """Sends that were answered with PUT_OK."""
    by_node: Mapping[str, Lost]
    """Nodes that lost a part of their log, whether or not it held such messages."""
    nowhere: int | None
    """Acknowledged messages that no broker has at the end; None where no audit lists the master's."""

    def lines(self) -> list[str]:
        """For people: nothing if no node lost anything."""
        told = [
            f"{the(node)} lost {lost.messages:,} of them ({lost.bytes:,} bytes of its log)"
            for node, lost in sorted(self.by_node.items())
        ]
        if not told:
            return []
        if self.nowhere is not None:
            on = "one of them is" if self.nowhere == 1 else f"{self.nowhere:,} of them are"
            told.append(f"{on} on no broker now" if self.nowhere else "each of them is still on some broker")
        return [f"{self.acknowledged:,} PUT_OK; {'; '.join(told)}"]

    def as_json(self) -> dict[str, object]:
        nodes = {node: lost._asdict() for node, lost in sorted(self.by_node.items())}
        return {"acknowledged": self.acknowledged, "lost": nodes, "nowhere": self.nowhere}


class Taken(NamedTuple):
    """One time when a node lost a part of its log."""

    node: str
    seq: int
    """The event that tells it."""
    ops: frozenset[int]
    """Operations that were answered with PUT_OK and whose records it held there."""
    bytes: int


class Traced(NamedTuple):
    """What one trial's nodes lost, and when."""

    losses: Losses
    taken: tuple[Taken, ...]
    missing: frozenset[int]
    """The operations whose messages are nowhere; empty where that is not known."""


def measure(events: Iterable[Event]) -> Losses:
    """What one trial's nodes lost."""
    return trace(events).losses


def trace(events: Iterable[Event]) -> Traced:
    """The same, each loss with the event that tells it."""
    seen = _Measured().read(events)
    missing = seen.missing()
    return Traced(seen.losses(None if missing is None else len(missing)), tuple(seen.taken_at), missing or frozenset())


def total(found: Iterable[Losses]) -> Losses:
    """Of several trials together."""
    acknowledged, nowhere = 0, None
    nodes: dict[str, Lost] = {}
    for each in found:
        acknowledged += each.acknowledged
        if each.nowhere is not None:
            nowhere = (nowhere or 0) + each.nowhere
        for node, lost in each.by_node.items():
            before = nodes.get(node, Lost(0, 0))
            nodes[node] = Lost(before.messages + lost.messages, before.bytes + lost.bytes)
    return Losses(acknowledged, nodes, nowhere)


class _Measured(Reader):
    """Bounded by the sends and nodes of one trial."""

    asks = frozenset(("record", "audit"))

    def __init__(self) -> None:
        super().__init__()
        self.taken_at: list[Taken] = []
        self.acknowledged: dict[int, Ok] = {}
        self.kept = Kept()
        self.taken: dict[str, int] = {}
        """Of nodes that do not trace their logs, as Java's: bytes that a crash took, until an audit says where."""
        self.lost: dict[str, set[int]] = {}
        self.bytes: dict[str, int] = {}

    def losses(self, nowhere: int | None) -> Losses:
        nodes = {node: Lost(len(self.lost[node]), self.bytes[node]) for node in self.lost if self.bytes[node]}
        return Losses(len(self.acknowledged), nodes, nowhere)

    def missing(self) -> frozenset[int] | None:
        audits = self.known.audits
        if MASTER not in audits.final:
            return None
        held = audits.held_elsewhere()
        return frozenset(op for op, each in self.acknowledged.items() if each.message not in held)

    def on_ok(self, event: Ok) -> None:
        if event.f == "send" and event.status == PUT_OK and event.node == MASTER and event.lo is not None:
            self.acknowledged[event.op] = event

    def on_append(self, event: Append) -> None:
        if event.node not in APART:
            self.kept.append(event)

    def on_start(self, event: Crash | Start | Wipe) -> None:
        node = event.node
        if node in APART:
            return
        if node in self.kept.logs:
            before = self.kept.end(node)
            if self.kept.move(event) and (end := self.kept.end(node)) < before:
                self._lose(event, end, before)
        elif event.hi is not None:
            self.kept.move(event)
        elif event.kind == "crash" and event.value:
            self.taken[node] = event.value

    on_crash = on_wipe = on_start

    def _lose(self, event: Event, end: int, before: int) -> None:
        node = event.node or ""
        gone = {op for op, each in self.acknowledged.items() if end < _end_of(each) <= before}
        self.taken_at.append(Taken(node, event.seq, frozenset(gone), before - end))
        self.lost.setdefault(node, set()).update(gone)
        self.bytes[node] = self.bytes.get(node, 0) + before - end

    def on_audit(self, event: Audit) -> None:
        if event.hi is not None and (taken := self.taken.pop(event.node, 0)):
            self._lose(event, event.hi, event.hi + taken)


def _end_of(answer: Event) -> int:
    """Behind the record's last byte; where only its place is known, behind its first."""
    return answer.hi if answer.hi is not None else (answer.lo or 0) + 1
