"""A reader pulls messages by their tag."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, number, text
from .. import topology
from ..ports import CanSelect
from .scope import QUEUES, READERS

ANY = "a || b"
"""A subscription to two tags."""


class Select(Operation):
    """A reader pulls its next messages of a queue from ``node`` that have one of the ``tags``."""

    name = "select"
    needs = CanSelect
    act = CanSelect.select
    arguments = {
        "reader": number(INT_MAX, range(READERS), (0,), usual=0),
        "node": text(topology.NODES, usual=topology.MASTER),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
        "tags": text(("a", "a", ANY), usual="a"),
    }
    drawn = Drawn(after="send")
    is_load = True


OPERATION = Select()
