"""What the process lab sees and records: taps, clients and store reads as they happen, and what the nodes trace.

All of it carries the machine's one monotonic clock, counted from the trial's beginning, so :meth:`Evidence.weave` can
put it in order at the end. An observer records before it forwards and after it receives, and a node traces before it
goes on: the order that comes out is one that could have been seen from outside.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from pairproof.chaos.labs.process.ha_passage import MASTERS, SLAVES, HaPassage
from pairproof.chaos.labs.process.trace import Row, TraceReader
from pairproof.chaos.observers.ha_tap import FrameTap, ReportTap
from pairproof.chaos.observers.stored_record import stored_key
from pairproof.harness import places
from pairproof.harness.history import Event, Recorder, digest
from pairproof.harness.schedule import Args
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.wire.record import Record

MS = 1_000_000
LOG = "commitlog"
NAME_DIGITS = 20


class Life(NamedTuple):
    """One node's process: which one it is, and its trace."""

    node: str
    incarnation: int
    trace: TraceReader


class Evidence:
    """Records everything that the laws may want to see of one trial: the taps' ears and the clients' stage."""

    def __init__(self, recorder: Recorder) -> None:
        self.base = time.monotonic_ns()
        self.recorder = recorder
        self.add = recorder.add
        self.audits = 0
        self.connections = 0
        self.heard_from: set[str] = set()
        """Slaves whose reports have reached the master."""
        self.log_ends: dict[str, int] = {}
        """By node that runs, or ran last: where its log ends, as far as it was read."""
        self.dispatched: dict[str, int] = {}
        self.flushed: dict[str, int] = {}
        """By node: up to where its log was durable, as it said."""
        self.started: set[tuple[str, int]] = set()
        """Nodes and incarnations whose process came so far as to have recovered its store."""
        self.ready: set[tuple[str, int]] = set()
        """Nodes and incarnations that serve."""
        self.registered: set[tuple[str, int]] = set()
        """Those that a name server has answered."""
        self.addresses: dict[str, str] = {}
        """Which node is behind an address that anybody may be told of."""
        self.stores: dict[str, tuple[Path, int]] = {}
        """By node: its store and the size of its log files."""
        self.traced: list[Event] = []
        self._lives: list[Life] = []
        self._noted: dict[FrameTap | ReportTap, object] = {}
        self.refusals: Counter[str] = Counter()
        """How often the master has refused a slave as diverged."""
        self._peers: dict[str, tuple[str, str]] = {}
        """Labels of HA connections, and whose they are, by the address that the master sees."""

    # The clients' stage.

    def now(self) -> int:
        """Since the trial began, ns."""
        return time.monotonic_ns() - self.base

    def node_at(self, address: str) -> str:
        """The node behind an address; the address itself if it is nobody's."""
        return self.addresses.get(address, address)

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
        self.add(self.now(), "lab", f="process", value=healthy_ns, detail=json.dumps(own, sort_keys=True))

    def config(self, name: str, config: BrokerConfig) -> None:
        """A node's settings."""
        self.add(self.now(), "config", name, detail=json.dumps(asdict(config), sort_keys=True))

    def born(self, node: str, incarnation: int, trace: TraceReader) -> None:
        """A node's process begins; its trace is read from now on."""
        self._lives.append(Life(node, incarnation, trace))

    def poll(self) -> None:
        """Read what the nodes have traced meanwhile."""
        for life in self._lives:
            for row in life.trace.read():
                self._take(life, row)

    def _take(self, life: Life, row: Row) -> None:
        t, kind, *columns = row
        self._note(life, kind, columns)
        event = _event(t - self.base, life, kind, columns)
        if event is None:
            return
        if kind == "register":
            event = event._replace(detail=self._told(columns[1:]))
        elif kind == "refused":
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
            case "dispatch", [int(hi)]:
                self.dispatched[node] = hi
            case "ready", _:
                self.ready.add(who)
            case "register", ["ok", *_]:
                self.registered.add(who)

    def _told(self, answered: Iterable[object]) -> str:
        pairs = zip(("master", "ha"), answered, strict=True)
        return json.dumps({key: self.node_at(str(each)) for key, each in pairs if each}, sort_keys=True)

    # The HA link.

    def connected(self, passage: HaPassage) -> None:
        """A connection stands."""
        self.connections += 1
        passage.label = f"ha:{self.connections}"
        if passage.tapped:
            self._peers[passage.address] = passage.label, passage.who
            self._connect(passage, MASTERS)
        self._connect(passage, SLAVES)

    def _connect(self, passage: HaPassage, side: str) -> None:
        self.add(self.now(), "connect", passage.who, None, passage.label, side, f=passage.who)

    def closed(self, passage: HaPassage, side: str, how: str) -> None:
        """One end of it is gone."""
        taps = (passage.sent, passage.heard) if side == MASTERS else (passage.said, passage.got)
        if side == SLAVES or passage.tapped:
            node = places.MASTER if side == MASTERS else passage.who
            unfinished = taps[0].pending or taps[1].pending or None
            self.add(self.now(), "close", node, None, passage.label, side, f=how, value=unfinished)
        for tap in taps:
            self._noted.pop(tap, None)

    def frames(self, passage: HaPassage, side: str, data: bytes) -> None:
        """Bytes left the master, or are about to reach the slave."""
        if side == MASTERS and not passage.tapped:
            return
        now, label = self.now(), passage.label
        tap, node = (passage.sent, places.MASTER) if side == MASTERS else (passage.got, passage.who)
        for offset, body in tap.feed(data):
            hi = offset + len(body)
            known = digest(body)
            self.add(now, "frame", node, None, label, side, lo=offset, hi=hi, digest=known)
            if side == MASTERS and body:
                stored = self._stored(node, offset, hi)
                if stored is not None:
                    known = known if stored == body else digest(stored)
                    self.add(now, "source", node, None, label, None, lo=offset, hi=hi, digest=known)
        self._partial(passage, side, "out" if side == MASTERS else "in", tap)

    def reports(self, passage: HaPassage, side: str, data: bytes) -> None:
        """Bytes left the slave, or are about to reach the master."""
        if side == MASTERS and not passage.tapped:
            return
        tap, node = (passage.heard, places.MASTER) if side == MASTERS else (passage.said, passage.who)
        for offset in tap.feed(data):
            if side == MASTERS:
                self.heard_from.add(passage.who)
            self.add(self.now(), "report", node, None, passage.label, side, hi=offset)
        self._partial(passage, side, "in" if side == MASTERS else "out", tap)

    def stalled(self, passage: HaPassage, side: str) -> None:
        """Nothing more of what this side sends is taken for now."""
        if side == SLAVES or passage.tapped:
            tap = passage.sent if side == MASTERS else passage.said
            self._partial(passage, side, "out", tap, blocked=True)

    def _partial(
        self, passage: HaPassage, side: str, f: str, tap: FrameTap | ReportTap, blocked: bool = False
    ) -> None:  # fmt: skip
        """Something is unfinished at this end, or it takes no more; noted once a millisecond until it is whole."""
        if not (tap.pending or tap.broken or blocked):
            self._noted.pop(tap, None)
            return
        now, lo, broken = self.now(), tap.announced, tap.broken
        what = broken or (now // MS, lo)
        if self._noted.get(tap) == what:
            return
        self._noted[tap] = what
        node = places.MASTER if side == MASTERS else passage.who
        detail = f"broken: {broken}" if broken else None
        self.add(now, "partial", node, None, passage.label, side, f=f, lo=lo, value=tap.pending, detail=detail)

    def _stored(self, node: str, lo: int, hi: int) -> bytes | None:
        """What the node's files hold of [lo, hi) now; None if they do not hold all of it."""
        root, size = self.stores[node]
        found = b""
        while lo < hi:
            start = lo - lo % size
            wanted = min(hi, start + size) - lo
            try:
                fd = os.open(root / LOG / f"{start:0{NAME_DIGITS}d}", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return None
            try:
                data = os.pread(fd, wanted, lo - start)
            except OSError:
                return None
            finally:
                os.close(fd)
            if len(data) < wanted:
                return None
            found += data
            lo += wanted
        return found

    # The end.

    def weave(self) -> None:
        """Put everything in order: the recorder then holds the whole history."""
        self.poll()
        merged = sorted([*self.traced, *self.recorder.events], key=lambda event: event.t)
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
                    found.append(Event(0, event.t, "cut", node, event.incarnation, lo=end, hi=before))
                if event.hi is not None:
                    self.ends[node] = end
            case "wipe":
                self.ends.pop(node, None)
            case "ok" if event.f == "send" and event.lo is not None:
                found[0] = event._replace(hi=self.records.get((event.node, event.lo)))
        return found


def _event(t: int, life: Life, kind: str, columns: list[Any]) -> Event | None:
    """A trace's row as an event; None for one that the history has no place for."""
    node, incarnation = life.node, life.incarnation
    row = Event(0, t, kind, node, incarnation)
    match kind, columns:
        case "start", [str(f), lo, hi]:
            return row._replace(f=f, lo=lo, hi=hi)
        case "append", [lo, hi, known, f, message]:
            return row._replace(lo=lo, hi=hi, digest=known, f=f, message=message)
        case (("flush" | "dispatch"), [hi]):
            return row._replace(hi=hi)
        case "sync", [table, status]:
            return row._replace(f=table, status=status)
        case "persist", [table]:
            return row._replace(f=table)
        case "register", [status, *_]:
            return row._replace(status=status)
        case "expire", [lo]:
            return row._replace(lo=lo)
        case "refused", [_, reported, end, why]:
            return row._replace(kind="diverged", hi=reported, value=end, detail=why)
    return None
