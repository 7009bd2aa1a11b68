"""Time passes."""

from __future__ import annotations

from ..ports import Session
from ..trials.operation import Operation, number
from ..trials.schedule import Args

MOST_MS = 3_600_000


class Advance(Operation):
    """``ms`` of time pass."""

    name = "advance"
    act = Session.advance
    arguments = {"ms": number(MOST_MS, simpler=(1, 20, 100, 600, 3_100, 6_000))}
    is_step = False

    def words(self, args: Args) -> str:
        return f"{args['ms']:,} ms pass."


OPERATION = Advance()
