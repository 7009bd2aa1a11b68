"""A fault ends."""

from __future__ import annotations

from ..trials.operation import Operation, Running, text
from ..trials.schedule import Args


class Heal(Operation):
    """The oldest active fault of that ``name`` ends; nothing if there is none."""

    name = "heal"
    arguments = {"name": text()}
    is_step = False

    def words(self, args: Args) -> str:
        return f"The fault {args['name']} ends."

    def do(self, running: Running, args: Args) -> None:
        running.end_oldest(str(args["name"]))


OPERATION = Heal()
