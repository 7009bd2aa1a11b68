"""What a lab with real processes sees and records, whatever its nodes are; a target's readings make events of the rest.

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

from ....harness.history import MS, Event, Recorder, kinds
from ....harness.trials.schedule import Args
from ...plan import NOTHING, Row, View, load
from . import proc
from .stalls import Stall
from .taps import Listener

OBSERVER = "observer"
"""Whose trace holds what taps saw that are not in this process."""


class Incarnation(NamedTuple):
    """One node's process: which one it is, and what is told of it."""

    node: str
    incarnation: int
    trace: View
    began: int = 0
    """When, ns of the trial."""


class Readings:
    """What a target makes of what its nodes and ears tell. This one knows of starts only, and of no log."""

    def event(self, life: Incarnation, t: int, kind: str, columns: list[Any]) -> Event | None:
        """A row as an event; None for one that the history has no place for."""
        if kind != "start":
            return None
        return kinds()["start"](0, t, "start", life.node, life.incarnation, f=columns[0], lo=columns[1], hi=columns[2])

    def woven(self, events: Iterable[Event], born: Mapping[tuple[str, int], int]) -> Iterable[Event]:
        """All events in order of time, completed by what later ones tell. ``born``: when processes began, ns."""
        return sorted(events, key=lambda event: event.t)


class Evidence:
    """Records everything that the laws may want to see of one trial. Ears and views tell it."""

    def __init__(
        self, recorder: Recorder, listener: str = "", notes: Mapping[str, Any] = NOTHING, label: str = "ha"
    ) -> None:
        """``listener``, ``notes``: the plan's. ``label``: of connections that taps in this process let through."""
        self.base = time.monotonic_ns()
        self.recorder = recorder
        self.add = recorder.add
        self.readings = Readings()
        self.audits = 0
        self.log_ends: dict[str, int] = {}
        """By node that runs, or ran last: where its log ends, as far as it was read."""
        self.flushed: dict[str, int] = {}
        """By node: up to where its log was durable, as it said."""
        self.spoke: dict[str, int] = {}
        """By node: when it traced something last, ns."""
        self.started: set[tuple[str, int]] = set()
        """Nodes and incarnations whose process came so far as to have recovered its store."""
        self.ready: set[tuple[str, int]] = set()
        """Nodes and incarnations that serve."""
        self.unreached: Counter[str] = Counter()
        """By address: how often a node, or a client, was refused there. Not every node says so."""
        self.addresses: dict[str, str] = {}
        """Which node is behind an address that anybody may be told of."""
        self.stores: dict[str, Path] = {}
        """By node."""
        self.traced: list[Event] = []
        self._lives: list[Incarnation] = []
        self.listener: Listener | None = load(listener)(self, self.stores, label, notes) if listener else None
        """Of the taps in this process."""

    def last_moment(self, node: str, now: int) -> int:
        """``now``, when a node that stood still was ended; later if somebody had let it go on just then, ns."""
        return max(now, self.spoke.get(node, 0))

    def now(self) -> int:
        return time.monotonic_ns() - self.base

    def node_at(self, address: str) -> str:
        return self.addresses.get(address, address)

    def unreached_at(self, address: str) -> None:
        """Somebody could not connect there; a client says behind ``#`` which of its connections it was."""
        self.unreached[address.partition("#")[0]] += 1

    # The lab and its nodes.

    def lab(self, healthy_ns: int, instant_ns: int, settings: Args) -> None:
        """The lab itself: what it may add to anything, to what a node does at once too, and what was set for it."""
        own = {key: value for key, value in settings.items() if key.startswith("lab.")} | {"instantNs": instant_ns}
        own["stalls"] = "counted" if proc.counts_waits() else "seen"
        # Nodes date their logs by the wall clock.
        own["beganMs"] = time.time_ns() // MS - self.now() // MS
        self.add(self.now(), "lab", f="process", value=healthy_ns, detail=json.dumps(own, sort_keys=True))

    def config(self, name: str, shown: str) -> None:
        """A node's settings, as far as they are known: JSON."""
        self.add(self.now(), "config", name, detail=shown)

    def born(self, node: str, incarnation: int, trace: View) -> None:
        """A node's process begins; its trace is read from now on."""
        self._lives.append(Incarnation(node, incarnation, trace, self.now()))

    def life(self, node: str, t: int) -> Incarnation | None:
        """The process that the node had at ``t``, ns of the trial, or last before."""
        lives = (life for life in self._lives if life.node == node and life.began <= t)
        return max(lives, key=lambda life: life.began, default=None)

    def poll(self) -> None:
        self._read(self._lives)

    def _read(self, lives: Iterable[Incarnation]) -> None:
        for life in lives:
            for row in life.trace.read():
                self._take(life, row)

    def listened(self) -> None:
        """Read what an observer has told meanwhile: its taps tell of a connection before nodes do."""
        self._read(life for life in self._lives if life.node == OBSERVER)

    def note(self, kind: str, *columns: object) -> None:
        self._take(_HERE, [time.monotonic_ns(), kind, *columns])

    def _take(self, life: Incarnation, row: Row) -> None:
        t, kind, *columns = row
        if kind == "seen":
            self.add(t - self.base, columns[0], **columns[1])
            return
        self.spoke[life.node] = t - self.base
        match kind, columns:
            case "start", _:
                self.started.add((life.node, life.incarnation))
            case "ready", _:
                self.ready.add((life.node, life.incarnation))
            case "unreached", [str(address)]:
                self.unreached_at(address)
        event = self.readings.event(life, t - self.base, kind, columns)
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

    def weave(self) -> None:
        """Put everything in order: the recorder then holds the whole history."""
        self.poll()
        born = {(life.node, life.incarnation): life.began for life in self._lives}
        merged = list(self.readings.woven([*self.traced, *self.recorder.events], born))
        self.traced.clear()
        events = self.recorder.events
        events.clear()
        for each in merged:
            if len(events) >= self.recorder.limit:
                self.recorder.dropped += 1
                continue
            events.append(each._replace(seq=len(events)))


class _Nobody:
    """Ears of this process are no process of their own."""

    def read(self) -> list[Row]:
        return []


_HERE = Incarnation(OBSERVER, 0, _Nobody())
