"""A node is limited to this much memory, as in a container that is too small.

The kernel may kill it (OOM): a crash of that process, which starts again when the fault ends.
"""

from __future__ import annotations

from typing import Any

from ...harness.errors import UsageError
from ...harness.ports import Effect
from ...harness.ports.nodes import CanLimitMemory
from ...harness.rocketmq import topology
from ...harness.trials.schedule import Args

LEAST_MB = 6
"""Container engines set no lower limit."""


class MemoryLimit:
    """The fault ``memory_limit``."""

    name = "memory_limit"
    needs = CanLimitMemory
    arguments = {"node": topology.PROCESSES, "mb": (16, 64)}

    def start(self, session: CanLimitMemory, args: Args) -> Any:
        """Begin; UsageError for a limit below the engines' minimum."""
        node, mb = str(args["node"]), int(args["mb"])
        if mb < LEAST_MB:
            raise UsageError(f"fault {self.name!r}: mb must be at least {LEAST_MB}, not {mb}")
        return node, session.limit_memory(node, mb)

    def stop(self, session: CanLimitMemory, handle: Any) -> Effect:
        node, limit = handle
        effect = dict(session.lift_memory(limit))
        session.restart(node)
        return effect


FAULT = MemoryLimit()
