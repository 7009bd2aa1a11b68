"""Events of tapped connections.

On HA links: frames, reports, and the master's files. On brokers' links to the name server: answered registrations. On a
slave's links to its master's ports: requested and received tables.

A listener records before a byte is forwarded and after it was received, so an outside observer could have seen its
order.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from ...harness.rocketmq import topology
from ..labs.real.taps import Sink
from ..labs.real.wires import Forwarder
from ..plan import NOTHING
from .calls_forwarder import NamesForwarder, TablesForwarder
from .ha_events import HaEvents
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

    def forwarder(self, who: str, link: str, replaced: Mapping[str, str] = NOTHING) -> Forwarder:
        if link in topology.HA_LINKS:
            return HaForwarder(who, self.sink, self._events, self._labels)
        if link in topology.META_LINKS or link in topology.FAST_LINKS:
            return TablesForwarder(who, self.sink.note)
        return NamesForwarder(who, self.sink.note, replaced)

    def _stored(self, node: str, lo: int, hi: int) -> bytes | None:
        root, size = self.stores[node], self.sizes[node]
        found = b""
        while lo < hi:
            start = lo - lo % size
            wanted = min(hi, start + size) - lo
            try:
                with (root / LOG / f"{start:0{NAME_DIGITS}d}").open("rb", buffering=0) as file:
                    file.seek(lo - start)
                    data = file.read(wanted)
            except OSError:
                return None
            if len(data) < wanted:
                return None
            found += data
            lo += wanted
        return found
