"""Mutants of delivery: the messages for consumers, and their next offsets."""

from typing import Any

from ...reference.client.pulling import Pulling as ConsumersPulling
from ...reference.core.checkpoint import Checkpoint
from ...reference.core.consume_queue import Entry
from ...reference.core.delay import SCHEDULE_TOPIC, queue_of_level
from ...reference.core.delayed_delivery import DelayedDelivery
from ...reference.core.dispatch import Dispatcher
from ...reference.core.processors.members import Members
from ...reference.core.processors.progress import Progress
from ...reference.core.processors.pulling import Pulling
from ...reference.core.puts import Puts
from ...reference.core.reading import Found, Reader, Takes
from ...reference.core.requests import Request
from ...reference.core.store import Stored
from ...reference.wire import remoting
from ...reference.wire.record import Message, Record
from .mutant import CONSUMER, seeded


@seeded("master", "deliver-no-loss", "wakes a long poll, and returns an offset behind the message that woke it")
class WakesPast(Pulling):
    def arrived(self, topic: str, queue_id: int, next_offset: int, tags_code: int) -> None:
        low = self.parts.store.queues.min_offset(topic, queue_id)
        values = {"suggestWhichBrokerId": 0, "minOffset": low, "maxOffset": next_offset, "nextBeginOffset": next_offset}
        for each in self._taken(topic, queue_id):
            each.request.answer(remoting.PULL_NOT_FOUND, values)


@seeded("master", "deliver-no-loss", "skips the message that did not fit into an answer")
class CountsWhatDidNotFit(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        if found.messages and found.next_offset < found.high:
            return found._replace(next_offset=found.next_offset + 1)
        return found


@seeded("slave", "deliver-no-loss", "an empty pull continues one offset further")
class SlaveStepsPastEnd(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        return found._replace(next_offset=offset + 1) if found.status == "OFFSET_OVERFLOW_ONE" else found


@seeded("master", "queue-shows-dispatched", "reports stored messages as in their queue before they are dispatched")
class CountsWhatWaits(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        return found._replace(high=max(found.high, self.store.queue_offset_for(Message(topic, queue_id, b""))))


@seeded("slave", "deliver-no-phantom", "serves a cached message instead of another one of the same length")
class SlaveReusesBuffers(Reader):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.buffers: dict[int, bytes] = {}

    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        return found._replace(messages=tuple(self.buffers.setdefault(len(each), each) for each in found.messages))


@seeded("master", "deliver-no-phantom", "serves the message at the same offset of another queue")
class RemembersByOffset(Reader):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.known: dict[tuple[int, int], tuple[bytes, ...]] = {}

    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        if not found.messages:
            return found
        return found._replace(messages=self.known.setdefault((offset, found.next_offset), found.messages))


@seeded("master", "deliver-no-loss", "leaves the first message after a restart out of the queues")
class DropsFirstAfterRestart(Dispatcher):
    recovered = 0
    """The log's end at that start; 0 once that has happened."""

    def recover(self, clean: bool, checkpoint: Checkpoint) -> None:
        super().recover(clean, checkpoint)
        self.recovered = self.log.end

    def _dispatch_record(self, window: bytes, inside: int) -> None:
        if self.recovered and self.at >= self.recovered:
            self.recovered = 0
        else:
            super()._dispatch_record(window, inside)


@seeded("master", "deliver-no-phantom", "stores every message twice, under two offsets")
class StoresTwice(Puts):
    def put(self, message: Message) -> Stored:
        stored = super().put(message)
        super().put(message)
        return stored


@seeded("master", "deliver-order", "returns messages in the wrong order")
class NewestFirst(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        return found._replace(messages=found.messages[::-1])


@seeded("slave", "deliver-order", "begins one message before the requested offset")
class SlaveStartsOneEarly(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        if not found.messages or offset <= found.low:
            return found
        return super().read(topic, queue_id, offset - 1, limit, takes)


@seeded("master", "deliver-at-least-once", "lets a group begin at 0 although it has committed progress")
class AsksMemoryFirst(Progress):
    def on_query(self, request: Request) -> None:
        if self.has_everything(request.header["topic"], request.header["queueId"]):
            request.answer(values={"offset": 0})
        else:
            super().on_query(request)


@seeded("master", "deliver-at-least-once", "drops a group's progress when its last member unregisters")
class ForgetsLonelyGroups(Members):
    def on_unregister(self, request: Request) -> None:
        super().on_unregister(request)
        group = request.header.get("consumerGroup")
        if group and not self.parts.clients.consumer_ids(group):
            self.parts.offsets.remove_group(group)


@seeded("slave", "deliver-at-least-once", "a slave that is behind returns readers to its own end")
class SlaveMovesReadersBack(Pulling):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.reader.corrects = True


@seeded("slave", "deliver-at-least-once", "a slave confirms commits and discards them")
class SlaveTakesNoCommits(Progress):
    def on_update(self, request: Request) -> None:
        if self.parts.config.is_slave:
            request.answer()
        else:
            super().on_update(request)


@seeded(
    CONSUMER,
    "deliver-no-loss",
    "a consumer skips messages as repeats: it compares offsets without the queue",
)
class DropsDuplicates(ConsumersPulling):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen: set[int] = set()

    def wants(self, message: Record) -> bool:
        new = message.queue_offset not in self.seen
        self.seen.add(message.queue_offset)
        return new and super().wants(message)


@seeded("master", "deliver-delayed", "holds no delayed message back")
class DeliversAtOnce(DelayedDelivery):
    def wait_ms(self, level: int, entry: Entry) -> int:
        return 0


@seeded("master", "deliver-delayed", "never delivers the delayed messages that were pending at its start")
class ForgetsWhatWaits(DelayedDelivery):
    def start(self) -> None:
        super().start()
        for level in self.next:
            self.next[level] = self.parts.store.queues.next_offset(SCHEDULE_TOPIC, queue_of_level(level))


@seeded("master", "deliver-delayed", "delivers a level's last message again with its next one")
class DeliversTwice(DelayedDelivery):
    def _deliver(self, level: int) -> None:
        self.next[level] = max(0, self.next[level] - 1)
        super()._deliver(level)


@seeded("master", "deliver-delayed", "delivers a level's last message again after a restart")
class RepeatsAtStart(DelayedDelivery):
    def start(self) -> None:
        super().start()
        self.next = {level: max(0, at - 1) for level, at in self.next.items()}
