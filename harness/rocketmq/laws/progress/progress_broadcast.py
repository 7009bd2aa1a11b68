"""``progress-broadcast``: a broadcasting consumer commits to no broker.

Each member receives every message, so the group has no common progress: a member would resume from another's.

Checks:
- No call of a broadcasting consumer is a commit, neither its own call nor one that a pull carries.
Source: LocalFileOffsetStore, DefaultMQPushConsumerImpl.pullMessage (commitOffsetEnable).
"""

from ....event_types.client import Invoke
from ....judging.law import EventFilter
from ...law import Law


class ProgressBroadcast(Law):
    needs = frozenset({"consumer", "invoke"})
    ignored_nodes = frozenset()
    awaits = {"consumer": EventFilter(frozenset({"broadcasting"}))}

    def on_invoke(self, event: Invoke) -> None:
        consumer = self.known.consumption.consumers.get(event.process)
        if consumer is None or consumer.clustering:
            return
        self.judged += 1
        if event.f == "commit":
            how = "on a pull" if event.carried else "itself"
            what = f"process {event.process} of {event.group} commits {event.queue_offset} of {event.queue}"
            self.violate(event, f"{what} to {event.node} {how}; it is broadcasting")
