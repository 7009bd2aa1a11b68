"""An administrator changes a topic."""

from __future__ import annotations

from ...trials.operation import Drawn, Operation, Running, number, text
from ...trials.schedule import Args
from ..ports import CanAdminister
from .scope import ADMINISTERED, TOPICS


class Topic(Operation):
    """An administrator creates a topic at ``node``, or changes its number of queues."""

    name = "topic"
    needs = CanAdminister
    arguments = {
        "number": number(99, range(TOPICS), (0,)),
        "queues": number(64, (1, 2, 8), (1,)),
        "node": text(ADMINISTERED, usual="master"),
    }
    drawn = Drawn(whole=True)

    def do(self, running: Running, args: Args) -> None:
        """Ask the broker."""
        running.able.change_topic(args["number"], args["queues"], args["node"])


OPERATION = Topic()
