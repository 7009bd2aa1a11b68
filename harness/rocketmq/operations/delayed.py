"""A producer sends a delayed message."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, Running, number
from ...trials.schedule import Args
from .. import topology
from ..ports import CanSendTo
from .scope import PRODUCERS, QUEUES, SMALL

MOST_LEVEL = 99
"""messageDelayLevel has 18."""


class Delayed(Operation):
    """A producer sends a message to the master that enters its queue only after the time of its delay ``level``."""

    name = "delayed"
    needs = CanSendTo
    arguments = {
        "producer": number(INT_MAX, range(PRODUCERS), (0,), usual=0),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
        # The longest delays outlast a trial by hours; levels above 18 count as 18.
        "level": number(MOST_LEVEL, (1, 2, 3, 1, 2, 3, 17, 18, 40), (1,)),
    }
    drawn = Drawn(whole=True)
    is_load = is_send = True

    def do(self, running: Running, args: Args) -> None:
        """Start it."""
        sender = f"producer-{args['producer']}"
        running.able.send_to(sender, topology.MASTER, SMALL, True, args["queue"], args["level"])


OPERATION = Delayed()
