"""A fault begins."""

from __future__ import annotations

from pairproof.harness.operation import Operation, Running, text
from pairproof.harness.schedule import Args


class FaultBegins(Operation):
    """The fault ``name`` begins, with its own arguments."""

    name = "fault"
    arguments = {"name": text()}
    carries_fault = True
    is_step = False

    def do(self, running: Running, args: Args) -> None:
        """Begin it."""
        running.begin(args)


OPERATION = FaultBegins()
