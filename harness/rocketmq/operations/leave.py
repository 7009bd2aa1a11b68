"""A consumer leaves."""

from __future__ import annotations

from ...trials.operation import Drawn, Operation, number, truth
from ..ports import CanConsume
from .scope import CONSUMERS, FALTERING, JOINED, MOST_MEMBER


class Leave(Operation):
    """A consumer leaves, in an orderly way or ``lost`` with its process; nothing if it has not joined."""

    name = "leave"
    needs = CanConsume
    act = CanConsume.leave
    arguments = {
        "group": number(MOST_MEMBER, (*JOINED, FALTERING), usual=0),
        "consumer": number(MOST_MEMBER, range(CONSUMERS), usual=0),
        "lost": truth(0.5, simpler=False, usual=False),
    }
    drawn = Drawn(whole=True, after="join")


OPERATION = Leave()
