"""An administrator creates an object, deletes it, and creates it again."""

from __future__ import annotations

from ...trials.operation import Drawn, Operation, number, one_of, optional, text, truth
from ..ports import CanRecreate
from .scope import ADMINISTERED, TOPICS

KINDS = ("topic", "group")
MOST_STEPS = 3


class Recreate(Operation):
    """An administrator creates an unused topic or consumer group at ``node``, or changes it if it exists; with two
    ``steps`` deletes it then, with three creates it again with other values. Each step begins after the answer to the
    one before. Every second group is deleted with its progress. ``used``: it is the topic of all clients, or the
    consumers' group of this number.
    """

    name = "recreate"
    needs = CanRecreate
    act = CanRecreate.recreate
    arguments = {
        "what": text(KINDS, check=one_of(KINDS, f"an administrator re-creates a {' or a '.join(KINDS)}")),
        "number": number(99, range(TOPICS), (0,), usual=0),
        "steps": number(MOST_STEPS, (1, 2, 3), (1, 2), usual=MOST_STEPS),
        "node": text(ADMINISTERED, usual="master"),
        **optional({"used": truth(0.3, simpler=False, usual=False)}),
    }
    drawn = Drawn(whole=True)


OPERATION = Recreate()
