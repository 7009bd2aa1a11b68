"""An administrator changes a consumer group."""

from __future__ import annotations

from ...trials.operation import Drawn, Operation, Running, number, text
from ...trials.schedule import Args
from ..ports import CanAdminister
from .scope import ADMINISTERED, GROUPS, MOST_MEMBER

MOST_BROKER = 3
"""The broker id of the third slave."""


class Group(Operation):
    """An administrator creates a consumer group at ``node``, or changes the broker ids from which it reads: normally,
    and when it consumes ``slowly``.
    """

    name = "group"
    needs = CanAdminister
    arguments = {
        "group": number(MOST_MEMBER, range(GROUPS), (0,), usual=0),
        "slowly": number(MOST_BROKER, (1, 0, 2), (1,)),
        "broker": number(MOST_BROKER, (0, 1), (0,)),
        "node": text(ADMINISTERED, usual="master"),
    }
    drawn = Drawn(whole=True)

    def do(self, running: Running, args: Args) -> None:
        """Ask the broker."""
        running.able.change_group(args["group"], args["slowly"], args["broker"], args["node"])


OPERATION = Group()
