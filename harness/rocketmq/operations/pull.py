"""A reader pulls messages."""

from __future__ import annotations

from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.operations.scope import QUEUES, READERS
from pairproof.harness.rocketmq.ports import CanPull
from pairproof.harness.trials.operation import INT_MAX, Drawn, Operation, Running, number, text
from pairproof.harness.trials.schedule import Args


class Pull(Operation):
    """A reader pulls its next messages of a queue from ``node``."""

    name = "pull"
    needs = CanPull
    arguments = {
        "reader": number(INT_MAX, range(READERS), (0,), usual=0),
        "node": text(places.NODES, usual=places.MASTER),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
    }
    drawn = Drawn(after="send")
    is_load = True

    def do(self, running: Running, args: Args) -> None:
        """Start it."""
        running.able.pull(args["reader"], args["node"], args["queue"])


OPERATION = Pull()
