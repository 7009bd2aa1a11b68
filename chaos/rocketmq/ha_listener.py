"""Events of tapped connections.

On HA links: frames, reports, and the master's files. On brokers' links to the name server: answered registrations. On a
slave's links to its master's ports: requested and received tables.

A listener records before a byte is forwarded and after it was received, so an outside observer could have seen its
order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from ...harness.rocketmq import topology
from ..labs.real.taps import Sink
from ..labs.real.wires import Forwarder
from .calls_forwarder import NamesForwarder, TablesForwarder
from .ha_events import MASTERS, SLAVES, HaEvents
from .ha_forwarder import HaForwarder

LOG = "commitlog"
NAME_DIGITS = 20


class HaListener:
    """Connections have labels ``label:1``, ``label:2``, …; ``notes``: ``sizes`` of log files."""

    def __init__(self, sink: Sink, stores: Mapping[str, Path], label: str, notes: Mapping[str, Any]) -> None:
        self.sink = sink
        self.stores = stores
        self.sizes: Mapping[str, int] = notes["sizes"]
        self._labels = (f"{label}:{number}" for number in count(1))
        self._events = HaEvents(sink.add, sink.now, self._stored)

    def forwarder(self, who: str, link: str) -> Forwarder:
        if link in topology.HA_LINKS:
            return HaForwarder(who, self)
        of_tables = link in topology.META_LINKS or link in topology.FAST_LINKS
        return (TablesForwarder if of_tables else NamesForwarder)(who, self.sink.note)

    def connected(self, forwarder: HaForwarder) -> None:
        forwarder.label = next(self._labels)
        if forwarder.tapped:
            self.sink.note("met", forwarder.address, forwarder.label, forwarder.who)
            self._connect(forwarder, MASTERS)
        self._connect(forwarder, SLAVES)

    def _connect(self, forwarder: HaForwarder, side: str) -> None:
        self._events.connect(forwarder.who, forwarder.label, side)

    def closed(self, forwarder: HaForwarder, side: str, how: str) -> None:
        taps = (forwarder.sent, forwarder.received) if side == MASTERS else (forwarder.reported, forwarder.got)
        if side == SLAVES or forwarder.tapped:
            self._events.close(_node(forwarder, side), forwarder.label, side, how, *taps)

    def frames(self, forwarder: HaForwarder, side: str, data: bytes) -> None:
        if side == SLAVES or forwarder.tapped:
            tap = forwarder.sent if side == MASTERS else forwarder.got
            self._events.frames(_node(forwarder, side), forwarder.label, side, tap, data)

    def reports(self, forwarder: HaForwarder, side: str, data: bytes) -> None:
        if side == MASTERS and not forwarder.tapped:
            return
        node, tap = _node(forwarder, side), forwarder.received if side == MASTERS else forwarder.reported
        for offset in tap.feed(data):
            if side == MASTERS:
                self.sink.note("heard", forwarder.who)
            elif offset != forwarder.claimed:
                forwarder.claimed = offset
                self.sink.note("claimed", forwarder.who, offset)
            self._events.report(node, forwarder.label, side, offset)
        self._events.reported(node, forwarder.label, side, tap, data)

    def stalled(self, forwarder: HaForwarder, side: str) -> None:
        (self.frames if side == MASTERS else self.reports)(forwarder, side, b"")

    def _stored(self, node: str, lo: int, hi: int) -> bytes | None:
        root, size = self.stores[node], self.sizes[node]
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


def _node(forwarder: HaForwarder, side: str) -> str:
    return topology.MASTER if side == MASTERS else forwarder.who
