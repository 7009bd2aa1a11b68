"""Time passes, by events."""

from __future__ import annotations

from ..ports.timing import CanStep
from ..trials.operation import Operation, number
from ..trials.schedule import Args


class Step(Operation):
    """The lab's next ``events`` events happen."""

    name = "step"
    needs = CanStep
    act = CanStep.step
    arguments = {"events": number(1_000_000, simpler=(1, 2, 4, 8))}

    def words(self, args: Args) -> str:
        return f"The lab's next {args['events']:,} events happen."


OPERATION = Step()
