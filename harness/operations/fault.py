"""A fault begins."""

from __future__ import annotations

from .. import registry
from ..trials.operation import Operation, Running, listed, text
from ..trials.schedule import Args


class FaultBegins(Operation):
    """The fault ``name`` begins, with its own arguments."""

    name = "fault"
    arguments = {"name": text()}
    carries_fault = True
    is_step = False

    def words(self, args: Args) -> str:
        own = {key: value for key, value in args.items() if key != "name"}
        return f"Fault {args['name']}: {registry.described('faults', str(args['name']))}{listed(own)}"

    def do(self, running: Running, args: Args) -> None:
        running.begin(args)


OPERATION = FaultBegins()
