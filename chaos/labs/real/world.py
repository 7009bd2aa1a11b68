"""What the troubles of a trial share with it: the parts that every ability acts on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pairproof.chaos.labs.real.bench import Bench
from pairproof.chaos.labs.real.evidence import Evidence
from pairproof.chaos.labs.real.links import Link, Links
from pairproof.chaos.labs.real.nodes import RealNode
from pairproof.chaos.rocketmq.machines import Machine
from pairproof.chaos.targets.rocketmq import AnyTarget
from pairproof.harness.errors import Unable, UsageError
from pairproof.harness.schedule import Args

T = TypeVar("T")
DRAIN_S = 0.004
"""Bytes on one machine arrive within microseconds; the loop then has to turn."""


class World:
    """Base of the troubles; the session fills it in."""

    loop: asyncio.AbstractEventLoop
    bench: Bench
    evidence: Evidence
    nodes: dict[str, RealNode]
    pair: tuple[str, ...]
    """The pair's brokers, the master first."""
    links: Links
    target: AnyTarget
    settings: Args
    seed: str

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something while time passes and clients, taps and consumers go on."""
        raise NotImplementedError

    def aside(self, work: Callable[[], T]) -> T:
        """Do something that takes its time in a thread: clients, taps and consumers go on."""
        return self.run(asyncio.to_thread(work))

    def drained(self) -> None:
        """What nodes have sent so far is heard."""
        self.run(asyncio.sleep(DRAIN_S))
        self.bench.drain()
        self.evidence.poll()

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        """Let time pass until ``reached`` or for ``limit_ns``; whether it was reached."""
        raise NotImplementedError

    def boot(self, *names: str) -> None:
        """Start nodes' processes on whatever their stores hold, and :meth:`await_serving`."""
        raise NotImplementedError

    def await_serving(self, *nodes: RealNode) -> None:
        """Wait until they serve, but for those that are down, stand still, or start on a disk that flushes nothing."""
        raise NotImplementedError

    def serves(self, node: RealNode) -> bool:
        """Whether its process lives and has come so far that it takes connections."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Open the links to servers that serve, shut those to others."""
        raise NotImplementedError

    async def refreshed(self) -> None:
        """As :meth:`refresh`."""
        raise NotImplementedError

    def machine(self, name: str) -> Machine:
        """A machine for one of our own nodes."""
        raise NotImplementedError

    def audit(self, f: str, *nodes: str) -> None:
        """Read stores from outside."""
        raise NotImplementedError

    def node(self, name: str) -> RealNode:
        """A node; UsageError for one that this trial does not have."""
        if name not in self.nodes:
            valid = ", ".join(self.nodes)
            raise UsageError(f"there is no node {name!r} in this trial; valid: {valid} (lab.slaves, lab.names)")
        return self.nodes[name]

    def obedient(self, name: str) -> RealNode:
        """A node that obeys the lab and tells what it does; Unable for real RocketMQ, which has no seam for that."""
        found = self.node(name)
        if not found.has_seams:
            raise Unable(f"{name} runs {self.target.runs(name)}, of whose clock, flushes and files the lab has no hold")
        return found

    def link(self, name: str) -> Link:
        """A link; UsageError for one that this trial does not have."""
        found = self.links.by_name.get(name)
        if found is None:
            valid = ", ".join(self.links.by_name)
            raise UsageError(f"there is no link {name!r} in this trial; valid: {valid} (lab.slaves, lab.names)")
        return found
