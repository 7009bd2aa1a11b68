"""A consumer joins."""

from __future__ import annotations

from ...trials.operation import Drawn, Operation, number
from ..ports import CanConsume
from .scope import CONSUMERS, JOINED, MOST_MEMBER

ORDERLY = 6
"""The first consumer group whose members consume a queue only while they hold its lock."""
BROADCASTING = 8
"""The first consumer group in which each member gets every message."""


class Join(Operation):
    """A consumer joins its group, takes its share of the topic's queues, and consumes; nothing if it has joined
    already. Groups 2 and 3 subscribe to certain tags. Groups 6 and 7 consume orderly: a queue only while they hold its
    lock. Groups from 8 on broadcast.
    """

    name = "join"
    needs = CanConsume
    act = CanConsume.join
    arguments = {
        "group": number(MOST_MEMBER, JOINED, (0,), usual=0),
        "consumer": number(MOST_MEMBER, range(CONSUMERS), (0,), usual=0),
    }
    drawn = Drawn(whole=True, always=1)


OPERATION = Join()
