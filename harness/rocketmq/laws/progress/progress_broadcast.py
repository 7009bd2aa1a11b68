"""``progress-broadcast``: a member of a broadcasting group tells no broker how far it is.

Each member gets every message, so a group has no progress that a broker could keep; what one member told, another would
take for its own. Judged of each call of such a member: none is a commit, neither one of its own nor one that rides on a
pull. That brokers note nothing either, see ``progress-as-committed``; that every member gets every message, see
``deliver-no-loss``. Source: LocalFileOffsetStore, DefaultMQPushConsumerImpl.pullMessage (commitOffsetEnable).
"""

from ....event_types.client import Invoke
from ....judging.law import EventFilter
from ...law import Law


class ProgressBroadcast(Law):
    id = "progress-broadcast"
    promise = "A broadcasting consumer keeps its progress to itself."
    source = "LocalFileOffsetStore; DefaultMQPushConsumerImpl.pullMessage: commitOffsetEnable"
    needs = frozenset({"consumer", "invoke"})
    ignored_nodes = frozenset()
    awaits = {"consumer": EventFilter(frozenset({"broadcasting"}))}

    def on_invoke(self, event: Invoke) -> None:
        consumer = self.known.consumption.consumers.get(event.process)
        if consumer is None or consumer.clustering:
            return
        self.judged += 1
        if event.f == "commit":
            how = "by a pull" if event.carried else "itself"
            told = f"process {event.process} of {event.group} tells {event.node} {how} that it is at"
            self.violate(event, f"{told} {event.queue_offset} of {event.queue}; it is broadcasting")
