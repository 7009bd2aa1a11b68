"""A producer sends several messages at once."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, number, truth
from ..ports import CanSendOtherwise
from .scope import PRODUCERS, QUEUES

MOST_MESSAGES = 100


class Batch(Operation):
    """A producer sends ``count`` messages of ``size`` body bytes in one request to a queue of the master."""

    name = "batch"
    needs = CanSendOtherwise
    act = CanSendOtherwise.send_batch
    arguments = {
        "producer": number(INT_MAX, range(PRODUCERS), (0,), usual=0),
        "count": number(MOST_MESSAGES, (2, 3, 8), (2,), usual=3),
        "size": number(100_000, (1, 30, 100), (1,), usual=100),
        "wait": truth(0.67, simpler=True, usual=True),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
    }
    drawn = Drawn()
    is_load = is_send = True


OPERATION = Batch()
