"""A broker's machine loses power: unflushed bytes are lost or torn, peers hear nothing; it starts again at the end."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.nodes import CanCrashMachine
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class PowerLoss:
    """The fault ``power_loss``."""

    name = "power_loss"
    needs = CanCrashMachine
    arguments = {"node": places.NODES, "keep": ("none", "half", "hole", "all")}

    def start(self, session: CanCrashMachine, args: Args) -> Any:
        """Begin."""
        node = str(args["node"])
        return node, session.crash_machine(node, str(args["keep"]))

    def stop(self, session: CanCrashMachine, handle: Any) -> Effect:
        """End; what it did."""
        node, effect = handle
        session.restart(node)
        return dict(effect)


FAULT = PowerLoss()
