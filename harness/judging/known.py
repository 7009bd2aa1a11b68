"""The state of a history that all systems share: disturbances, and which nodes are up.

The judge keeps one model for all laws. It passes an event to the model after the laws, so laws read the state *before*
the event. A system's own model extends this one (``Law.known_type``).
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
        """Event types that the lab records; only of these does an absence count."""
        self.healthy_ns = 0
        """Extra time of a healthy client's call that the network and the lab may add."""
        self.instant_ns = 0
        """The time between two immediate actions of a node: zero in virtual time."""
        self.lab: Mapping[str, Any] = {}
        self.disturbances = Disturbances(self.links_of)
        self.up: set[str] = set()
        self.gone: set[str] = set()
        """Nodes that crashed or did not start."""
        self.clocks: dict[str, list[Clock]] = {}
        self.milestones: dict[str, Mark] = {}

    @property
    def flush_ns(self) -> int:
        """The longest flush on the lab's disks by its settings; 0 if they do not limit it."""
        return int(self.lab.get("lab.flushMicros", 0)) * int(self.lab.get("lab.spread", 1)) * 1_000

    def links_of(self, node: str) -> frozenset[str]:
        """Names of the links of a node: a fault at each of them affects them. Unknown in the plain model."""
        return frozenset()

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
        """The node continues, unless it was killed during the pause."""
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
