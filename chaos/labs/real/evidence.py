"""What a lab with real processes sees and records: clients, taps, store reads, and what the nodes trace.

All of it carries the machine's one monotonic clock, counted from the trial's beginning, so :meth:`Evidence.weave` can
put it in order at the end. An observer records before it forwards and after it receives, and a node traces before it
goes on: the order that comes out is one that could have been seen from outside.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pairproof.chaos.labs.real import proc
from pairproof.chaos.labs.real.nodes import NodeView
from pairproof.chaos.labs.real.stalls import Stall
from pairproof.chaos.labs.real.trace import Row
from pairproof.chaos.observers.stored_record import stored_key
from pairproof.chaos.rocketmq.ha_ears import HaEars
from pairproof.chaos.rocketmq.outside import dated
from pairproof.harness.history import Event, Recorder, digest, kinds
from pairproof.harness.schedule import Args
from pairproof.reference.wire.record import Record

OBSERVER = "observer"
"""Whose trace holds what taps saw that are not in this process."""


class Life(NamedTuple):
    """One node's process: which one it is, and its trace."""

    node: str
    incarnation: int
    trace: NodeView
    began: int = 0
    """When, ns of the trial."""


class Evidence:
    """Records everything that the laws may want to see of one trial; tapped connections are told to it, and it is the
    clients' stage.
    """

    def __init__(self, recorder: Recorder, label: str = "ha") -> None:
        self.base = time.monotonic_ns()
        self.recorder = recorder
        self.add = recorder.add
        self.audits = 0
        self.heard_from: set[str] = set()
        """Slaves whose reports have reached the master."""
        self.log_ends: dict[str, int] = {}
        """By node that runs, or ran last: where its log ends, as far as it was read."""
        self.dispatched: dict[str, int] = {}
        self.flushed: dict[str, int] = {}
        """By node: up to where its log was durable, as it said."""
        self.spoke: dict[str, int] = {}
        """By node: when it traced something last, ns."""
        self.started: set[tuple[str, int]] = set()
        """Nodes and incarnations whose process came so far as to have recovered its store."""
        self.ready: set[tuple[str, int]] = set()
        """Nodes and incarnations that serve."""
        self.registered: set[tuple[str, int]] = set()
        """Those that a name server has answered."""
        self.unreached: Counter[str] = Counter()
        """By address: how often a node, or a client, was refused there. Real RocketMQ does not say so."""
        self.addresses: dict[str, str] = {}
        """Which node is behind an address that anybody may be told of."""
        self.stores: dict[str, tuple[Path, int]] = {}
        """By node: its store and the size of its log files."""
        self.traced: list[Event] = []
        self._lives: list[Life] = []
        self.refusals: Counter[str] = Counter()
        """How often the master has refused a slave as diverged."""
        self._peers: dict[str, tuple[str, str]] = {}
        """Labels of HA connections, and whose they are, by the address that the master sees."""
        self.ears = HaEars(self, self.stores, label)
        """Of the taps in this process."""

    def last_moment(self, node: str, now: int) -> int:
        """``now``, when a node that stood still was ended; later if somebody had let it go on just then, ns."""
        return max(now, self.spoke.get(node, 0))

    # The clients' stage.

    def now(self) -> int:
        """Since the trial began, ns."""
        return time.monotonic_ns() - self.base

    def node_at(self, address: str) -> str:
        """The node behind an address; the address itself if it is nobody's."""
        return self.addresses.get(address, address)

    def unreached_at(self, address: str) -> None:
        """Somebody could not connect there; a client says behind ``#`` which of its connections it was."""
        self.unreached[address.partition("#")[0]] += 1

    def end_of_record(self, node: str, lo: int) -> int | None:
        """Only its trace knows: :meth:`weave` fills it in."""
        return None

    def delivered(self, process: int, op: int, node: str, found: Record, data: bytes, group: str | None = None) -> None:
        """One message of a pull's answer; ``group``: of the consumer that it was handed to."""
        lo = found.physical_offset
        self.add(
            self.now(), "deliver", node, process=process, op=op, f="pull", message=stored_key(data),
            queue=f"{found.message.topic}/{found.message.queue_id}", queue_offset=found.queue_offset,
            lo=lo, hi=lo + found.size, digest=digest(data), group=group,
        )  # fmt: skip

    # The lab and its nodes.

    def lab(self, healthy_ns: int, instant_ns: int, settings: Args) -> None:
        """The lab itself: what it may add to anything, to what a node does at once too, and what was set for it."""
        own = {key: value for key, value in settings.items() if key.startswith("lab.")} | {"instantNs": instant_ns}
        own["stalls"] = "counted" if proc.counts_waits() else "seen"
        self.add(self.now(), "lab", f="process", value=healthy_ns, detail=json.dumps(own, sort_keys=True))

    def config(self, name: str, settings: Mapping[str, object]) -> None:
        """A node's settings, as far as they are known."""
        self.add(self.now(), "config", name, detail=json.dumps(settings, sort_keys=True))

    def born(self, node: str, incarnation: int, trace: NodeView) -> None:
        """A node's process begins; its trace is read from now on."""
        self._lives.append(Life(node, incarnation, trace, self.now()))

    def poll(self) -> None:
        """Read what the nodes have traced meanwhile."""
        self._read(self._lives)

    def _read(self, lives: Iterable[Life]) -> None:
        for life in lives:
            for row in life.trace.read():
                self._take(life, row)

    def _take(self, life: Life, row: Row) -> None:
        t, kind, *columns = row
        if kind == "seen":
            self.add(t - self.base, columns[0], **columns[1])
            return
        self.spoke[life.node] = t - self.base
        self._note(life, kind, columns)
        event = _event(t - self.base, life, kind, columns)
        if event is None:
            return
        if kind == "register":
            event = event._replace(detail=self._told(columns[1:]))
        elif kind == "refused":
            if columns[0] not in self._peers:
                # Its tap told of it before, and was read before that.
                self._read(life for life in self._lives if life.node == OBSERVER)
            label, who = self._peers.get(columns[0], (None, ""))
            self.refusals[who] += 1
            event = event._replace(link=label)
        if len(self.traced) < self.recorder.limit:
            self.traced.append(event)
        else:
            self.recorder.dropped += 1

    def _note(self, life: Life, kind: str, columns: list[object]) -> None:
        node, who = life.node, (life.node, life.incarnation)
        match kind, columns:
            case "start", [_, _, hi]:
                self.started.add(who)
                if isinstance(hi, int):
                    self.log_ends[node] = self.dispatched[node] = hi
            case "flush", [int(hi)]:
                self.flushed[node] = hi
            case "append", [_, int(hi), *_]:
                self.log_ends[node] = hi
            case "reaches", [int(hi)]:
                self.log_ends[node] = hi
            case "dispatch", [int(hi)]:
                self.dispatched[node] = hi
            case "ready", _:
                self.ready.add(who)
            case "register", ["ok", *_]:
                self.registered.add(who)
            case "unreached", [str(address)]:
                self.unreached_at(address)
            case "met", [str(address), str(label), str(peer)]:
                self.met(address, label, peer)
            case "heard", [str(peer)]:
                self.heard(peer)

    def _told(self, answered: Iterable[object]) -> str:
        pairs = zip(("master", "ha"), answered, strict=True)
        return json.dumps({key: self.node_at(str(each)) for key, each in pairs if each}, sort_keys=True)

    # The HA link: see :class:`pairproof.chaos.rocketmq.ha_ears.Teller`.

    def met(self, address: str, label: str, who: str) -> None:
        """A connection whose peer is, as the master sees it, at this address."""
        self._peers[address] = label, who

    def heard(self, who: str) -> None:
        """A report of this slave has reached the master."""
        self.heard_from.add(who)

    # The end.

    def stalled(self, stalls: Iterable[Stall]) -> None:
        """This machine was late."""
        for each in stalls:
            begin = max(0, each.begin - self.base)
            value = max(0, each.end - self.base - begin)
            self.add(begin, "stall", each.node, f=each.f, value=value, detail=each.how)

    def weave(self) -> None:
        """Put everything in order: the recorder then holds the whole history."""
        self.poll()
        merged = dated(
            [*self.traced, *self.recorder.events], {(life.node, life.incarnation): life.began for life in self._lives}
        )
        self.traced.clear()
        events = self.recorder.events
        events.clear()
        woven = _Weaver()
        for event in merged:
            for each in woven.feed(event):
                if len(events) >= self.recorder.limit:
                    self.recorder.dropped += 1
                    continue
                events.append(each._replace(seq=len(events)))


class _Weaver:
    """Completes events by what others tell: where a sent message's record ends, what a start has cut off."""

    def __init__(self) -> None:
        self.ends: dict[str, int] = {}
        self.records: dict[tuple[str | None, int], int] = {}

    def feed(self, event: Event) -> list[Event]:
        """The event, complete, and what follows from it."""
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


def _event(t: int, life: Life, kind: str, columns: list[Any]) -> Event | None:
    """A trace's row as an event; None for one that the history has no place for."""

    def row(**columns: Any) -> Event:
        return make(0, t, named, life.node, life.incarnation, **columns)

    named = "diverged" if kind == "refused" else kind
    if named not in kinds():
        return None
    make = kinds()[named]
    match kind, columns:
        case "start", [str(f), lo, hi]:
            return row(f=f, lo=lo, hi=hi)
        case "append", [lo, hi, known, f, message]:
            return row(lo=lo, hi=hi, digest=known, f=f, message=message)
        case (("flush" | "dispatch"), [hi]):
            return row(hi=hi)
        case "sync", [table, status]:
            return row(f=table, status=status)
        case "persist", [table]:
            return row(f=table)
        case "register", [status, *_]:
            return row(status=status)
        case "expire", [lo]:
            return row(lo=lo)
        case "refused", [_, reported, end, why]:
            return row(hi=reported, value=end, detail=why)
    return None
