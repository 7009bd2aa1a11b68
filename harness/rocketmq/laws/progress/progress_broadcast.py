"""``progress-broadcast``: a member of a broadcasting group tells no broker how far it is.

Each member gets every message, so a group has no progress that a broker could keep; what one member told, another would
take for its own. Judged of each call of such a member: none is a commit, neither one of its own nor one that rides on a
pull. That brokers note nothing either, see ``progress-as-committed``; that every member gets every message, see
``deliver-no-loss``. Source: LocalFileOffsetStore, DefaultMQPushConsumerImpl.pullMessage (commitOffsetEnable).
"""

from ....judging.law import only
from ....kinds.client import Consumer, Invoke
from ...law import Law


class ProgressBroadcast(Law):
    id = "progress-broadcast"
    promise = "A broadcasting consumer keeps its progress to itself."
    source = "LocalFileOffsetStore; DefaultMQPushConsumerImpl.pullMessage: commitOffsetEnable"
    needs = frozenset({"consumer", "invoke"})
    deaf_to = frozenset()

    def begin(self) -> None:
        self.members: set[int] = set()

    @only("broadcasting")
    def on_consumer(self, event: Consumer) -> None:
        if event.status == "on":
            self.members.add(event.process)

    def on_invoke(self, event: Invoke) -> None:
        if event.process not in self.members:
            return
        self.judged += 1
        if event.f == "commit":
            how = "by a pull" if event.carried else "itself"
            told = f"process {event.process} of {event.group} tells {event.node} {how} that it is at"
            self.violate(event, f"{told} {event.queue_offset} of {event.queue}; it is broadcasting")
