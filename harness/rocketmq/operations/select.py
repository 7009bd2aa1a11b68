"""A reader pulls messages by their tag."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, Running, number, text
from ...trials.schedule import Args
from .. import topology
from ..ports import CanSelect
from .scope import QUEUES, READERS

ANY = "a || b"
"""A subscription to two tags."""


class Select(Operation):
    """A reader pulls its next messages of a queue from ``node`` that have one of the ``tags``."""

    name = "select"
    needs = CanSelect
    arguments = {
        "reader": number(INT_MAX, range(READERS), (0,), usual=0),
        "node": text(topology.NODES, usual=topology.MASTER),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
        "tags": text(("a", "a", ANY), usual="a"),
    }
    drawn = Drawn(after="send")
    is_load = True

    def do(self, running: Running, args: Args) -> None:
        """Start it."""
        running.able.select(args["reader"], args["node"], args["queue"], args["tags"])


OPERATION = Select()
