"""A reader pulls messages."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, number, text
from .. import topology
from ..ports import CanPull
from .scope import QUEUES, READERS


class Pull(Operation):
    """A reader pulls its next messages of a queue from ``node``."""

    name = "pull"
    needs = CanPull
    act = CanPull.pull
    arguments = {
        "reader": number(INT_MAX, range(READERS), (0,), usual=0),
        "node": text(topology.NODES, usual=topology.MASTER),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
    }
    drawn = Drawn(after="send")
    is_load = True


OPERATION = Pull()
