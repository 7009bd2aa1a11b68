"""A producer sends to whatever broker."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, Running, number, text
from ...trials.schedule import Args
from .. import places
from ..ports import CanSendTo
from .scope import QUEUES, SMALL


class Misdirect(Operation):
    """A producer sends to a queue at ``node``, whether that takes messages or not."""

    name = "misdirect"
    needs = CanSendTo
    arguments = {
        "node": text((places.SLAVES[0], places.SLAVES[0], places.OTHER), usual=places.MASTER),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
    }
    drawn = Drawn(whole=True)
    is_load = is_send = True

    def do(self, running: Running, args: Args) -> None:
        """Start it."""
        node = str(args["node"])
        running.able.send_to(f"producer-at-{node}", node, SMALL, True, args["queue"])


OPERATION = Misdirect()
