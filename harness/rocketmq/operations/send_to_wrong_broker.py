"""A producer sends to any broker."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, Running, number, text
from ...trials.schedule import Args
from .. import topology
from ..ports import CanSendTo
from .scope import QUEUES, SMALL


class SendToWrongBroker(Operation):
    """A producer sends to a queue at ``node``, which need not accept messages."""

    name = "send_to_wrong_broker"
    needs = CanSendTo
    arguments = {
        "node": text((topology.SLAVES[0], topology.SLAVES[0], topology.OTHER), usual=topology.MASTER),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
    }
    drawn = Drawn(whole=True)
    is_load = is_send = True

    def do(self, running: Running, args: Args) -> None:
        """Start it."""
        node = str(args["node"])
        running.able.send_to(f"producer-at-{node}", node, SMALL, True, args["queue"])


OPERATION = SendToWrongBroker()
