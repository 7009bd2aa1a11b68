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

from ...harness.history import MS, digest
from ...harness.rocketmq import topology
from ..labs.real.taps import Sink
from ..labs.real.wires import Forwarder
from ..observers.ha_tap import FrameTap, ReportTap
from .calls_forwarder import NamesForwarder, TablesForwarder
from .ha_forwarder import MASTERS, SLAVES, HaForwarder

LOG = "commitlog"
NAME_DIGITS = 20


class HaListener:
    """Connections have labels ``label:1``, ``label:2``, …; ``notes``: ``sizes`` of log files."""

    def __init__(self, sink: Sink, stores: Mapping[str, Path], label: str, notes: Mapping[str, Any]) -> None:
        self.sink = sink
        self.stores = stores
        self.sizes: Mapping[str, int] = notes["sizes"]
        self._labels = (f"{label}:{number}" for number in count(1))
        self._noted: dict[FrameTap | ReportTap, object] = {}

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
        self.sink.add(self.sink.now(), "connect", forwarder.who, link=forwarder.label, side=side, f=forwarder.who)

    def closed(self, forwarder: HaForwarder, side: str, how: str) -> None:
        taps = (forwarder.sent, forwarder.received) if side == MASTERS else (forwarder.reported, forwarder.got)
        if side == SLAVES or forwarder.tapped:
            node = topology.MASTER if side == MASTERS else forwarder.who
            unfinished = taps[0].pending or taps[1].pending or None
            self.sink.add(self.sink.now(), "close", node, link=forwarder.label, side=side, f=how, value=unfinished)
        for tap in taps:
            self._noted.pop(tap, None)

    def frames(self, forwarder: HaForwarder, side: str, data: bytes) -> None:
        if side == MASTERS and not forwarder.tapped:
            return
        now, label = self.sink.now(), forwarder.label
        tap, node = (forwarder.sent, topology.MASTER) if side == MASTERS else (forwarder.got, forwarder.who)
        for offset, body in tap.feed(data):
            hi = offset + len(body)
            known = digest(body)
            self.sink.add(now, "frame", node, link=label, side=side, lo=offset, hi=hi, digest=known)
            if side == MASTERS and body:
                stored = self._stored(node, offset, hi)
                if stored is not None:
                    known = known if stored == body else digest(stored)
                    self.sink.add(now, "source", node, link=label, lo=offset, hi=hi, digest=known)
        self._partial(forwarder, side, "out" if side == MASTERS else "in", tap)

    def reports(self, forwarder: HaForwarder, side: str, data: bytes) -> None:
        if side == MASTERS and not forwarder.tapped:
            return
        tap, node = (forwarder.received, topology.MASTER) if side == MASTERS else (forwarder.reported, forwarder.who)
        for offset in tap.feed(data):
            if side == MASTERS:
                self.sink.note("heard", forwarder.who)
            elif offset != forwarder.claimed:
                forwarder.claimed = offset
                self.sink.note("claimed", forwarder.who, offset)
            self.sink.add(self.sink.now(), "report", node, link=forwarder.label, side=side, hi=offset)
        self._partial(forwarder, side, "in" if side == MASTERS else "out", tap)

    def stalled(self, forwarder: HaForwarder, side: str) -> None:
        if side == SLAVES or forwarder.tapped:
            tap = forwarder.sent if side == MASTERS else forwarder.reported
            self._partial(forwarder, side, "out", tap, blocked=True)

    def _partial(
        self, forwarder: HaForwarder, side: str, f: str, tap: FrameTap | ReportTap, blocked: bool = False
    ) -> None:  # fmt: skip
        """A frame or report is incomplete at this end, or reading is paused; noted once a millisecond until it is
        complete.
        """
        if not (tap.pending or tap.broken or blocked):
            self._noted.pop(tap, None)
            return
        now, lo, broken = self.sink.now(), tap.announced, tap.broken
        what = broken or (now // MS, lo)
        if self._noted.get(tap) == what:
            return
        self._noted[tap] = what
        node = topology.MASTER if side == MASTERS else forwarder.who
        detail = f"broken: {broken}" if broken else None
        self.sink.add(
            now, "partial", node, link=forwarder.label, side=side, f=f, lo=lo, value=tap.pending, detail=detail
        )

    def _stored(self, node: str, lo: int, hi: int) -> bytes | None:
        """The bytes of [lo, hi) in the node's files now; None unless they have all of it."""
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
