"""The simulated lab: deterministic, nothing to install, thousands of virtual seconds per second."""

from __future__ import annotations

from ....harness.ports import Target
from ....harness.trials.schedule import Args
from ...plan import InProcess, abilities, forms, observed
from .link_faults import LinkFaults
from .node_faults import NodeFaults
from .session import SimSession


class SimLab:
    name = "sim"
    deterministic = True

    def takes(self, target: Target) -> bool:
        """Only targets that run in this process."""
        return InProcess in forms(target)

    def observes(self, target: Target) -> frozenset[str]:
        """Everything: taps, clients, stores, and traces of nodes."""
        return observed(target)

    def parts(self, target: Target | None) -> tuple[type, ...]:
        return (SimSession, LinkFaults, NodeFaults, *abilities(target))

    def open(self, target: Target, settings: Args, seed: str) -> SimSession:
        """A new trial; the same arguments give the same history, byte for byte."""
        return SimSession(target, settings, seed)


LAB = SimLab()
