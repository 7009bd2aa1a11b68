"""What taps tell of the connections that they let through.

Of HA links: frames, reports, and the master's files. Of brokers' links to the name server: answered registrations. Of a
slave's links to its master's ports: the tables that it asks for, and gets.

Whoever listens says so before a byte goes on, and after it came; so the order that it tells is one that could have been
seen from outside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from ...harness.history import MS, digest
from ...harness.rocketmq import places
from ..labs.real.taps import Teller
from ..labs.real.wires import Passage
from ..observers.ha_tap import FrameTap, ReportTap
from .calls_passage import NamesPassage, TablesPassage
from .ha_passage import MASTERS, SLAVES, HaPassage

LOG = "commitlog"
NAME_DIGITS = 20


class HaListener:
    """See the module. ``label``: connections are ``label:1``, ``label:2``, …; ``notes``: ``sizes`` of log files."""

    def __init__(self, teller: Teller, stores: Mapping[str, Path], label: str, notes: Mapping[str, Any]) -> None:
        self.teller = teller
        self.stores = stores
        self.sizes: Mapping[str, int] = notes["sizes"]
        self._labels = (f"{label}:{number}" for number in count(1))
        self._noted: dict[FrameTap | ReportTap, object] = {}

    def passage(self, who: str, link: str) -> Passage:
        if link in places.HA_LINKS:
            return HaPassage(who, self)
        of_tables = link in places.META_LINKS or link in places.FAST_LINKS
        return (TablesPassage if of_tables else NamesPassage)(who, self.teller.note)

    def connected(self, passage: HaPassage) -> None:
        passage.label = next(self._labels)
        if passage.tapped:
            self.teller.note("met", passage.address, passage.label, passage.who)
            self._connect(passage, MASTERS)
        self._connect(passage, SLAVES)

    def _connect(self, passage: HaPassage, side: str) -> None:
        self.teller.add(self.teller.now(), "connect", passage.who, link=passage.label, side=side, f=passage.who)

    def closed(self, passage: HaPassage, side: str, how: str) -> None:
        taps = (passage.sent, passage.heard) if side == MASTERS else (passage.said, passage.got)
        if side == SLAVES or passage.tapped:
            node = places.MASTER if side == MASTERS else passage.who
            unfinished = taps[0].pending or taps[1].pending or None
            self.teller.add(self.teller.now(), "close", node, link=passage.label, side=side, f=how, value=unfinished)
        for tap in taps:
            self._noted.pop(tap, None)

    def frames(self, passage: HaPassage, side: str, data: bytes) -> None:
        if side == MASTERS and not passage.tapped:
            return
        now, label = self.teller.now(), passage.label
        tap, node = (passage.sent, places.MASTER) if side == MASTERS else (passage.got, passage.who)
        for offset, body in tap.feed(data):
            hi = offset + len(body)
            known = digest(body)
            self.teller.add(now, "frame", node, link=label, side=side, lo=offset, hi=hi, digest=known)
            if side == MASTERS and body:
                stored = self._stored(node, offset, hi)
                if stored is not None:
                    known = known if stored == body else digest(stored)
                    self.teller.add(now, "source", node, link=label, lo=offset, hi=hi, digest=known)
        self._partial(passage, side, "out" if side == MASTERS else "in", tap)

    def reports(self, passage: HaPassage, side: str, data: bytes) -> None:
        if side == MASTERS and not passage.tapped:
            return
        tap, node = (passage.heard, places.MASTER) if side == MASTERS else (passage.said, passage.who)
        for offset in tap.feed(data):
            if side == MASTERS:
                self.teller.note("heard", passage.who)
            elif offset != passage.claimed:
                passage.claimed = offset
                self.teller.note("claimed", passage.who, offset)
            self.teller.add(self.teller.now(), "report", node, link=passage.label, side=side, hi=offset)
        self._partial(passage, side, "in" if side == MASTERS else "out", tap)

    def stalled(self, passage: HaPassage, side: str) -> None:
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
        now, lo, broken = self.teller.now(), tap.announced, tap.broken
        what = broken or (now // MS, lo)
        if self._noted.get(tap) == what:
            return
        self._noted[tap] = what
        node = places.MASTER if side == MASTERS else passage.who
        detail = f"broken: {broken}" if broken else None
        self.teller.add(
            now, "partial", node, link=passage.label, side=side, f=f, lo=lo, value=tap.pending, detail=detail
        )

    def _stored(self, node: str, lo: int, hi: int) -> bytes | None:
        """What the node's files hold of [lo, hi) now; None if they do not hold all of it."""
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
