"""An administrator resets a consumer group's progress."""

from __future__ import annotations

from ...trials.operation import Drawn, Operation, number
from ..ports import CanReset
from .scope import MOST_MEMBER

RESET = (0, 0, 1, 2, 3, 6)
"""Clustering groups, one of them orderly."""


class Reset(Operation):
    """An administrator moves a consumer group back to the first message of each queue, at the master; nothing while it
    has members, or if it never had any.
    """

    name = "reset"
    needs = CanReset
    act = CanReset.reset
    arguments = {"group": number(MOST_MEMBER, RESET, (0,), usual=0)}
    drawn = Drawn(whole=True, after="leave")


OPERATION = Reset()
