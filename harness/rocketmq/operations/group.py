"""An administrator changes a consumer group."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, number, optional, text, truth
from ..ports import CanAdminister
from .scope import ADMINISTERED, CHANGED, MOST_MEMBER

MOST_BROKER = 3
"""The broker id of the third slave."""
MOST_RETRIES = 16
"""RocketMQ's default of retryMaxTimes."""


class Group(Operation):
    """An administrator creates a consumer group at ``node``, or changes it: the broker ids from which it reads,
    normally (``broker``) and when it consumes ``slowly``; whether it may consume at all (``enabled``), as a
    ``broadcasting`` group, and ``from_min``; its ``retry_queues``; how often messages are retried (``retries``); and
    whether its members are notified of changes (``notified``).
    """

    name = "group"
    needs = CanAdminister
    act = CanAdminister.change_group
    arguments = {
        "group": number(MOST_MEMBER, CHANGED, (0,), usual=0),
        "slowly": number(MOST_BROKER, (1, 0, 2), (1,)),
        "broker": number(MOST_BROKER, (0, 1), (0,)),
        "node": text(ADMINISTERED, usual="master"),
        **optional({
            "enabled": truth(0.85, simpler=True, usual=True),
            "retry_queues": number(MOST_RETRIES, (1, 1, 2, 4, 0), (1,), usual=1),
            "retries": number(INT_MAX, (16, 16, 1, 0), (MOST_RETRIES,), usual=MOST_RETRIES),
            "from_min": truth(0.9, simpler=True, usual=True),
            "broadcasting": truth(0.9, simpler=True, usual=True),
            "notified": truth(0.9, simpler=True, usual=True),
        }),
    }  # fmt: skip
    drawn = Drawn(whole=True)


OPERATION = Group()
