"""A producer sends a message to the master."""

from __future__ import annotations

from ...event_types.text import amount
from ...trials.operation import INT_MAX, Drawn, Operation, number, truth
from ...trials.schedule import Args
from ..ports import CanSend
from .scope import PRODUCERS, QUEUES, SIZES, waiting


class Send(Operation):
    """A producer sends ``size`` body bytes to a queue of the master, and waits for the store's promise or not."""

    name = "send"
    needs = CanSend
    act = CanSend.send
    arguments = {
        "producer": number(INT_MAX, range(PRODUCERS), (0,), usual=0),
        # The largest is RocketMQ's maxMessageSize.
        "size": number(4 * 1024 * 1024, SIZES, SIZES[:-1], usual=200),
        "wait": truth(0.67, simpler=True, usual=True),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
    }
    drawn = Drawn(always=2, burst=4)
    is_load = is_send = True

    def words(self, args: Args) -> str:
        what = f"{amount(int(args['size']))} to queue {args['queue']}"
        return f"Producer {args['producer']} sends {what} of the master {waiting(args)}."


OPERATION = Send()
