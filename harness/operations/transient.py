"""A fault of a single call, such as one failed creation of a file."""

from __future__ import annotations

from ..ports.timing import CanArmCall
from ..trials.operation import Running
from ..trials.schedule import Args
from .arm import Arm


class Transient(Arm):
    """The fault ``name`` begins when ``node`` passes ``point`` for the ``nth`` time from now, and ends with that
    call.
    """

    name = "transient"
    needs = CanArmCall

    def do(self, running: Running, args: Args) -> None:
        running.arm_call(args)


OPERATION = Transient()
