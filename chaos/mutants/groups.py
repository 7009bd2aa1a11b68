"""Mutants of consumer groups: rebalancing, and the time of pulls' answers."""

from collections.abc import Callable, Hashable

from ...reference.client.consumer import Consumer
from ...reference.client.process_queue import ProcessQueue
from ...reference.client.progress import Progress
from ...reference.client.pulling import Pulling as ConsumersPulling
from ...reference.client.rebalancing import Rebalancing
from ...reference.client.routes import Choice
from ...reference.core.processors.members import Members
from ...reference.core.processors.pulling import COMMITS, Pulling
from ...reference.core.registration import Registration
from ...reference.core.requests import Request
from ...reference.ports import Conn
from ...reference.wire import beans
from ...reference.wire.bodies_client import ConsumerList, MessageQueue
from ...reference.wire.remoting import Command
from .mutant import CONSUMER, seeded


@seeded(CONSUMER, "group-shared", "a consumer ignores the notice that its group has changed")
class HeedsNoChange(Consumer):
    def on_request(self, conn: Conn, command: Command) -> None:
        """It rebalances at its next period."""


@seeded("master", "group-listed", "notifies no group of its changes; a slave still does")
class TellsNobody(Members):
    def notifies(self, group: str) -> bool:
        return False


@seeded("master", "group-listed", "keeps a member whose process ended until its heartbeat is too old")
class MissesEnds(Members):
    def gone(self, conn: Conn) -> None:
        """It may come back."""


@seeded("master", "group-listed", "lists only the first members of a group")
class NamesFirst(Members):
    def on_consumer_ids(self, request: Request) -> None:
        ids = self.parts.clients.consumer_ids(request.header["consumerGroup"])
        request.answer(body=beans.encode(ConsumerList(tuple(ids[:1]))))


@seeded("master", "pull-answered", "answers a waiting pull only at its next poll, although a message arrived for it")
class WakesNobody(Pulling):
    def arrived(self, topic: str, queue_id: int, next_offset: int, tags_code: int) -> None:
        """The poll will find them."""


@seeded("master", "pull-answered", "answers a timed-out pull only when a message arrives for it")
class HoldsForEver(Pulling):
    def on_timer(self, key: Hashable) -> None:
        """No timeout."""


@seeded("master", "route-reported", "reports a changed topic only at the next periodic registration")
class RegistersByPeriod(Registration):
    def topics_changed(self) -> None:
        """Later."""


@seeded("master", "progress-as-committed", "stores the progress of a pull whose flag excludes it")
class CommitsEveryPull(Pulling):
    def on_pull(self, request: Request) -> None:
        header = request.header
        try:
            super().on_pull(request)
        finally:
            if not header["sysFlag"] & COMMITS:
                offsets = self.parts.offsets
                offsets.commit(header["consumerGroup"], header["topic"], header["queueId"], header["commitOffset"])


@seeded(CONSUMER, "progress-broadcast", "the pulls of a broadcasting consumer carry its progress, too")
class CarriesWhateverGroup(ConsumersPulling):
    def carries(self, held: ProcessQueue, choice: Choice) -> bool:
        return not choice.is_slave and held.progress > 0


@seeded(CONSUMER, "progress-to-master", "pulls from a slave carry the group's progress, too")
class CarriesToSlaves(ConsumersPulling):
    def carries(self, held: ProcessQueue, choice: Choice) -> bool:
        return held.progress > 0 and not self.shared.settings.broadcasting


@seeded(CONSUMER, "progress-to-master", "a consumer that gives a queue up does not commit its progress")
class PartsInSilence(Progress):
    def commit(self, held: ProcessQueue, done: Callable[[], None] | None = None) -> None:
        if held.queue in self.shared.held:
            super().commit(held, done)
        elif done is not None:
            done()


@seeded(CONSUMER, "group-shared", "a consumer takes no queue")
class TakesNothing(Rebalancing):
    def _take(self, queue: MessageQueue) -> None:
        """Left to others."""
