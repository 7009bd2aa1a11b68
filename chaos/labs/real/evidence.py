"""The observations of a lab with real processes, independent of its nodes; a target's readings convert its own rows.

All events carry the machine's one monotonic clock, counted from the trial's start, so
:meth:`Evidence.merge_traces` can sort them at the end. An observer records before it forwards and after it receives,
and a node traces before it continues: an
outside observer could have seen the resulting order.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ....harness.history import MS, Event, Recorder, kinds
from ....harness.trials.schedule import Args
from ...plan import NOTHING, Row, View, load
from . import proc
from .stalls import Stall
from .taps import Listener

OBSERVER = "observer"


class Incarnation(NamedTuple):
    node: str
    incarnation: int
    trace: View
    began: int = 0
    """Its start, ns of the trial."""


class Readings:
    """Converts a target's rows from nodes and listeners into events. The base class converts starts only."""

    def event(self, of: Incarnation, t: int, kind: str, columns: list[Any]) -> Event | None:
        """A row as an event; None for one without an event type."""
        if kind != "start":
            return None
        return kinds()["start"](0, t, "start", of.node, of.incarnation, f=columns[0], lo=columns[1], hi=columns[2])

    def merged(self, events: Iterable[Event], starts: Mapping[tuple[str, int], int]) -> Iterable[Event]:
        """All events in order of time, completed from later ones. ``starts``: start of each process, ns."""
        return sorted(events, key=lambda event: event.t)


class Evidence:
    def __init__(
        self, recorder: Recorder, listener: str = "", notes: Mapping[str, Any] = NOTHING, label: str = "ha"
    ) -> None:
        """``listener``, ``notes``: the plan's. ``label``: of connections through this process's taps."""
        self.base = time.monotonic_ns()
        self.recorder = recorder
        self.add = recorder.add
        self.readings = Readings()
        self.audits = 0
        self.log_ends: dict[str, int] = {}
        """By node: the log end of its present or last incarnation, as far as it was read."""
        self.flushed: dict[str, int] = {}
        """By node: the durable log end that it reported."""
        self.spoke: dict[str, int] = {}
        """By node: time of its last trace row, ns."""
        self.started: set[tuple[str, int]] = set()
        """Nodes and incarnations that have recovered their store."""
        self.ready: set[tuple[str, int]] = set()
        self.unreached: Counter[str] = Counter()
        """By address: connections that were refused to a node or client. Not every node reports them."""
        self.addresses: dict[str, str] = {}
        """By reported address: its node."""
        self.stores: dict[str, Path] = {}
        self.traced: list[Event] = []
        self._incarnations: list[Incarnation] = []
        self.listener: Listener | None = load(listener)(self, self.stores, label, notes) if listener else None

    def last_moment(self, node: str, now: int) -> int:
        """``now``, when a stopped node was ended; later if it was resumed just then, ns."""
        return max(now, self.spoke.get(node, 0))

    def now(self) -> int:
        return time.monotonic_ns() - self.base

    def node_at(self, address: str) -> str:
        return self.addresses.get(address, address)

    def unreached_at(self, address: str) -> None:
        """A connection was refused; a client adds ``#`` and the name of the connection."""
        self.unreached[address.partition("#")[0]] += 1

    # The lab and its nodes.

    def lab(self, healthy_ns: int, instant_ns: int, settings: Args) -> None:
        """The lab itself: delays that it may add to anything and to immediate steps of a node, and its settings."""
        own = {key: value for key, value in settings.items() if key.startswith("lab.")} | {"instantNs": instant_ns}
        own["stalls"] = "counted" if proc.counts_waits() else "seen"
        # Nodes date their logs by the wall clock.
        own["beganMs"] = time.time_ns() // MS - self.now() // MS
        self.add(self.now(), "lab", f="process", value=healthy_ns, detail=json.dumps(own, sort_keys=True))

    def config(self, name: str, shown: str) -> None:
        """A node's known settings as JSON."""
        self.add(self.now(), "config", name, detail=shown)

    def process_started(self, node: str, incarnation: int, trace: View) -> None:
        self._incarnations.append(Incarnation(node, incarnation, trace, self.now()))

    def incarnation_at(self, node: str, t: int) -> Incarnation | None:
        """The node's process at ``t`` (ns of the trial), or its last one before."""
        found = (process for process in self._incarnations if process.node == node and process.began <= t)
        return max(found, key=lambda process: process.began, default=None)

    def poll(self) -> None:
        self._read(self._incarnations)

    def _read(self, found: Iterable[Incarnation]) -> None:
        for process in found:
            for row in process.trace.read():
                self._take(process, row)

    def listened(self) -> None:
        """Read the observer's new rows: its taps report a connection before nodes do."""
        self._read(process for process in self._incarnations if process.node == OBSERVER)

    def note(self, kind: str, *columns: object) -> None:
        self._take(_HERE, [time.monotonic_ns(), kind, *columns])

    def _take(self, process: Incarnation, row: Row) -> None:
        t, kind, *columns = row
        if kind == "seen":
            self.add(t - self.base, columns[0], **columns[1])
            return
        self.spoke[process.node] = t - self.base
        match kind, columns:
            case "start", _:
                self.started.add((process.node, process.incarnation))
            case "ready", _:
                self.ready.add((process.node, process.incarnation))
            case "unreached", [str(address)]:
                self.unreached_at(address)
        event = self.readings.event(process, t - self.base, kind, columns)
        if event is None:
            return
        if len(self.traced) < self.recorder.limit:
            self.traced.append(event)
        else:
            self.recorder.dropped += 1

    # The end.

    def stalled(self, stalls: Iterable[Stall]) -> None:
        for each in stalls:
            begin = max(0, each.begin - self.base)
            value = max(0, each.end - self.base - begin)
            self.add(begin, "stall", each.node, f=each.f, value=value, detail=each.how)

    def merge_traces(self) -> None:
        """Sort all events: afterwards the recorder has the complete history."""
        self.poll()
        starts = {(process.node, process.incarnation): process.began for process in self._incarnations}
        merged = list(self.readings.merged([*self.traced, *self.recorder.events], starts))
        self.traced.clear()
        events = self.recorder.events
        events.clear()
        for each in merged:
            if len(events) >= self.recorder.limit:
                self.recorder.dropped += 1
                continue
            events.append(each._replace(seq=len(events)))


class _NoProcess:
    """Listeners of this process run in no process besides."""

    def read(self) -> list[Row]:
        return []


_HERE = Incarnation(OBSERVER, 0, _NoProcess())
