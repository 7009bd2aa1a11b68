"""What laws of consumer progress have in common: they look wherever a broker shows how far a group is.

That is its answer to a consumer's query, and its table of offsets. Not here: what it may show, see
:mod:`pairproof.harness.rocketmq.known.registers`.
"""

from ....event_types.client import Ok
from ....history import Event
from ....judging.law import only
from ...event_types.metadata import Table
from ...law import Law


class ShownProgress(Law):
    """Base of such laws: they define ``look``."""

    @only("query")
    def on_ok(self, event: Ok) -> None:
        if event.group is not None:
            self.look(event)

    @only("offsets")
    def on_table(self, event: Table) -> None:
        self.look(event)

    def look(self, event: Event) -> None:
        """Judge what is shown here; a table may be one of something else."""
        raise NotImplementedError
