"""The process lab: real brokers in processes of their own, every link through a real toxiproxy, on loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairproof.chaos.labs.real.lab import RealLab
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.chaos.targets.rocketmq import RocketMQTarget

if TYPE_CHECKING:
    from pairproof.chaos.labs.process.bench import ProcessBench


class ProcessLab(RealLab):
    """Runs the reference's nodes and real RocketMQ's as processes."""

    name = "process"
    runs = (ReferenceTarget, RocketMQTarget)

    def make_bench(self) -> ProcessBench:
        """A new bench. LabError if toxiproxy is missing or ports are taken."""
        from pairproof.chaos.labs.process.bench import ProcessBench

        return ProcessBench()


LAB = ProcessLab()
