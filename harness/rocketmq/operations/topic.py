"""An administrator changes a topic."""

from __future__ import annotations

from ...trials.operation import Drawn, Operation, number, optional, text, truth
from ..ports import CanAdminister
from .scope import ADMINISTERED, TOPICS

ALL_PERMS = 7
MOST_QUEUES = 64


class Topic(Operation):
    """An administrator creates a topic at ``node``, or changes it: its ``queues`` for writing, its queues for
    reading (``reads``; 0: as many) and its permissions (``perm``: 4 to read, 2 to write, 1 to inherit). ``used``: it
    changes the topic of all clients instead, for which the number does not matter.
    """

    name = "topic"
    needs = CanAdminister
    act = CanAdminister.change_topic
    arguments = {
        "number": number(99, range(TOPICS), (0,)),
        "queues": number(MOST_QUEUES, (1, 2, 8), (1,)),
        "node": text(ADMINISTERED, usual="master"),
        **optional({
            "reads": number(MOST_QUEUES, (0, 0, 0, 1, 3, 8), (0,), usual=0),
            "perm": number(ALL_PERMS, (6, 6, 6, 6, 4, 2, 0, 7), (6,), usual=6),
            "used": truth(0.4, simpler=False, usual=False),
        }),
    }  # fmt: skip
    drawn = Drawn(whole=True)


OPERATION = Topic()
