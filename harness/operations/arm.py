"""A fault begins later, when a node passes a point."""

from __future__ import annotations

from typing import ClassVar

from ..ports.timing import CanArm
from ..trials.operation import Operation, Running, number, text
from ..trials.schedule import Args


class Arm(Operation):
    """The fault ``name`` begins when ``node`` passes ``point`` for the ``nth`` time from now."""

    name = "arm"
    needs: ClassVar[type | None] = CanArm
    arguments = {
        "node": text(usual="master"), "point": text(), "nth": number(1_000_000, simpler=(1, 2)), "name": text(),
    }  # fmt: skip
    carries_fault = True

    def do(self, running: Running, args: Args) -> None:
        running.arm(args)


OPERATION = Arm()
