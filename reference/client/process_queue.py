"""An assigned queue of a consumer, and the consumer's shared state. Source: ProcessQueue, MQConsumerInner."""

from dataclasses import dataclass, field

from ..core.calls import Calls
from ..ports import Effects
from ..wire.bodies_client import MessageQueue
from ..wire.record import Record
from .alarms import Alarms
from .listener import Listener
from .routes import Routes
from .settings import ConsumerSettings


class ProcessQueue:
    __slots__ = ("committing", "consumed", "failed", "frozen", "locked_until", "next_offset", "queue")

    def __init__(self, queue: MessageQueue, offset: int, locked_until: int) -> None:
        self.queue = queue
        self.next_offset = offset
        self.consumed = offset
        """Offset after the last message given to the application."""
        self.failed: dict[int, tuple[Record, int]] = {}
        """By queue offset: failed messages that are not sent back yet, and their failures so far."""
        self.frozen = False
        """The broker called its offset illegal: unused until corrected."""
        self.locked_until = locked_until
        """For an orderly consumer: expiry of its lock, ns."""
        self.committing = False

    @property
    def progress(self) -> int:
        """Offset after the last message consumed, at most the first one still to be sent back."""
        return min(self.failed) if self.failed else self.consumed


@dataclass(slots=True)
class Shared:
    io: Effects
    settings: ConsumerSettings
    listener: Listener
    calls: Calls
    routes: Routes
    alarms: Alarms
    held: dict[MessageQueue, ProcessQueue] = field(default_factory=dict)
    ops: int = 0

    def next_op(self) -> int:
        self.ops += 1
        return self.ops - 1

    def holds(self, held: ProcessQueue) -> bool:
        """Whether the queue may be consumed now: it is assigned and, if needed, locked."""
        if self.held.get(held.queue) is not held or held.frozen:
            return False
        return not self.settings.orderly or self.io.now() < held.locked_until
