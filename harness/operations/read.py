"""A client reads everything on a node."""

from __future__ import annotations

from ..ports.clients import CanRead
from ..trials.operation import Drawn, Operation, number, text


class Read(Operation):
    """A client reads everything on a node."""

    name = "read"
    needs = CanRead
    act = CanRead.read_all
    arguments = {
        "client": number(1_000, range(2), (0,), usual=0),
        "node": text(("master", "slave"), usual="slave"),
    }
    drawn = Drawn(after="write")
    is_load = True


OPERATION = Read()
