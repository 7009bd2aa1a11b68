"""Base of laws about the progress that a broker reports: in its answer to a consumer's query, and in its table of
offsets.

:mod:`pairproof.harness.rocketmq.known.registers` computes the allowed values.
"""

from ....event_types.client import Ok
from ....history import Event
from ....judging.law import only
from ...event_types.metadata import Table
from ...law import Law


class ShownProgress(Law):
    @only("query")
    def on_ok(self, event: Ok) -> None:
        if event.group is not None:
            self.check_shown(event)

    @only("offsets")
    def on_table(self, event: Table) -> None:
        self.check_shown(event)

    def check_shown(self, event: Event) -> None:
        """Check the progress that an event reports."""
        raise NotImplementedError
