"""A consumer joins whose application fails at some messages."""

from __future__ import annotations

from ...trials.operation import Drawn, Operation, number
from ..ports import CanFailConsume
from .scope import CONSUMERS, MOST_MEMBER

MOST = 16
"""RocketMQ's default of maxReconsumeTimes, and about the number of its levels."""


class FailConsume(Operation):
    """A consumer of group 4 joins, whose application fails at one in ``every`` so many messages, so many ``times`` at
    each. It sends them back, to be delivered again after a delay of this ``level`` (0: the broker's choice); after
    ``most`` retries they are dead letters. Nothing if it has joined already.
    """

    name = "fail_consume"
    needs = CanFailConsume
    act = CanFailConsume.fail_consume
    arguments = {
        "consumer": number(MOST_MEMBER, range(CONSUMERS), (0,), usual=0),
        "every": number(MOST_MEMBER, (1, 1, 2, 3), (1,), usual=1),
        "times": number(MOST, (1, 1, 2, 3), (1,), usual=1),
        "level": number(MOST, (0, 0, 0, 1, 2), (0,), usual=0),
        "most": number(MOST, (2, 2, 1, 0, 16), usual=2),
    }
    drawn = Drawn(whole=True)


OPERATION = FailConsume()
