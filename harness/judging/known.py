"""What a history has said so far that means the same for every system: troubles, and which nodes are up.

The judge keeps one for all laws alike. It tells the model of an event after the laws have seen it, so laws read the
state *before* the event. A system's own known extends this one (``Law.known_type``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..event_types.machine import Clock, Fault, Lab, Mark, Pause, Resume, Stall
from ..event_types.node import Abort, Crash, Start, Stop
from ..history import BY_THEMSELVES, kinds
from .disturbances import Disturbances


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
        self.disturbances = Disturbances(self.links_of)
        self.up: set[str] = set()
        self.gone: set[str] = set()
        """Nodes that are down by themselves: they crashed, or did not come up."""
        self.clocks: dict[str, list[Clock]] = {}
        """How nodes' clocks were set."""
        self.milestones: dict[str, Mark] = {}
        """The last of each."""

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
        self.disturbances.fault(event)

    def on_clock(self, event: Clock) -> None:
        self.clocks.setdefault(event.node, []).append(event)

    def on_mark(self, event: Mark) -> None:
        self.milestones[event.f] = event

    def on_stall(self, event: Stall) -> None:
        self.disturbances.stalls(event)

    def on_pause(self, event: Pause) -> None:
        self.disturbances.pause(event.node, event.t)

    def on_resume(self, event: Resume) -> None:
        """It goes on, unless it was killed meanwhile."""
        if event.node in self.up:
            self.disturbances.resume(event.node, event.t)

    def on_start(self, event: Start) -> None:
        self.disturbances.up(event.node, event.t)
        self.up.add(event.node)
        self.gone.discard(event.node)

    def on_crash(self, event: Crash | Stop) -> None:
        self.disturbances.down(event.node, event.t)
        self.up.discard(event.node)
        if event.status in BY_THEMSELVES:
            self.gone.add(event.node)

    on_stop = on_crash

    def on_abort(self, event: Abort) -> None:
        self.gone.add(event.node)
