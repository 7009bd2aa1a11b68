"""A client writes a value with a new name."""

from __future__ import annotations

from ..ports.clients import CanWrite
from ..trials.operation import Drawn, Operation, number


class Write(Operation):
    """A client writes once to the node that takes writes, and requests ``copies`` further nodes to have it."""

    name = "write"
    needs = CanWrite
    act = CanWrite.write_one
    arguments = {
        "client": number(1_000, range(2), (0,), usual=0),
        "copies": number(9, (0, 1, 1), (1, 0), usual=1),
    }
    drawn = Drawn(always=2, burst=4)
    is_load = is_send = True


OPERATION = Write()
