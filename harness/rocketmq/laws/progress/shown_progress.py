"""What laws of consumer progress have in common: they look wherever a broker shows how far a group is.

That is its answer to a consumer's query, and its table of offsets. Not here: what it may show, see
:mod:`pairproof.harness.rocketmq.known.registers`.
"""

from ....history import Event
from ....kinds.client import Ok
from ...kinds.metadata import Table
from ...law import Law


class ShownProgress(Law):
    """Base of such laws: they define ``look``."""

    def on_ok(self, event: Ok) -> None:
        if event.f == "query" and event.group is not None:
            self.look(event)

    def on_table(self, event: Table) -> None:
        self.look(event)

    def look(self, event: Event) -> None:
        """Judge what is shown here; a table may be one of something else."""
        raise NotImplementedError
