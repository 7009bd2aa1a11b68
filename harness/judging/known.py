"""What a history has said so far that means the same for every system: troubles, and which nodes are up.

The judge keeps one for all laws alike. It tells the model of an event after the laws have seen it, so laws read the
state *before* the event. A system's own known extends this one (``Law.known_type``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..history import BY_THEMSELVES, kinds
from ..kinds.machine import Fault, Lab, Pause, Resume, Stall
from ..kinds.node import Abort, Crash, Start, Stop
from .trouble import Trouble


class Known:
    """Bounded by the nodes, faults, pauses and crashes of one trial."""

    def __init__(self, observes: frozenset[str] | None = None) -> None:
        self.observes = frozenset(kinds()) if observes is None else observes
        """Kinds that the lab records: only there is an absence a sign."""
        self.healthy_ns = 0
        """What a healthy client's call may spend on the way, and what else the lab adds."""
        self.instant_ns = 0
        """What lies between two things that a node does at once: nothing in virtual time."""
        self.lab: Mapping[str, Any] = {}
        """The lab's own settings."""
        self.trouble = Trouble(self.links_of)
        self.up: set[str] = set()
        self.gone: set[str] = set()
        """Nodes that are down by themselves: they crashed, or did not come up."""

    @property
    def flush_ns(self) -> int:
        """The longest that a flush takes on the lab's disks by its settings; 0 where these say nothing."""
        return int(self.lab.get("lab.flushMicros", 0)) * int(self.lab.get("lab.spread", 1)) * 1_000

    def links_of(self, node: str) -> frozenset[str]:
        """Names of the links that begin or end at a node: a fault at each of them touches them. Here none is known."""
        return frozenset()

    # What the judge tells.

    def on_lab(self, event: Lab) -> None:
        self.healthy_ns = event.healthy_ns
        self.lab = json.loads(event.detail or "{}")
        self.instant_ns = int(self.lab.get("instantNs", 0))

    def on_fault(self, event: Fault) -> None:
        self.trouble.fault(event)

    def on_stall(self, event: Stall) -> None:
        self.trouble.stalls(event)

    def on_pause(self, event: Pause) -> None:
        self.trouble.pause(event.node, event.t)

    def on_resume(self, event: Resume) -> None:
        """It goes on, unless it was killed meanwhile."""
        if event.node in self.up:
            self.trouble.resume(event.node, event.t)

    def on_start(self, event: Start) -> None:
        self.trouble.up(event.node, event.t)
        self.up.add(event.node)
        self.gone.discard(event.node)

    def on_crash(self, event: Crash | Stop) -> None:
        self.trouble.down(event.node, event.t)
        self.up.discard(event.node)
        if event.status in BY_THEMSELVES:
            self.gone.add(event.node)

    on_stop = on_crash

    def on_abort(self, event: Abort) -> None:
        self.gone.add(event.node)
