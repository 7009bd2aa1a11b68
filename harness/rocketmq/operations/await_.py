"""Time passes until something has happened."""

from __future__ import annotations

from pairproof.harness.operation import Operation, Running, number, text
from pairproof.harness.operations.advance import MOST_MS
from pairproof.harness.ports.timing import CanAwait
from pairproof.harness.rocketmq.awaiting import check_what
from pairproof.harness.schedule import Args


class Await(Operation):
    """Time passes until ``count`` more of ``what`` (answered, acknowledged, replicated, frames) have happened, or
    ``ms`` are over.
    """

    name = "await"
    needs = CanAwait
    arguments = {
        "what": text(check=check_what),
        "count": number(10_000, simpler=(1, 2)),
        "ms": number(MOST_MS, simpler=(100, 600, 3_100)),
    }

    def do(self, running: Running, args: Args) -> None:
        """Let it pass."""
        running.able.wait_for(args["what"], args["count"], args["ms"])


OPERATION = Await()
