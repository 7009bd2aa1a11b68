"""A queue while a consumer has it, and what the parts of one consumer share. Source: ProcessQueue, MQConsumerInner."""

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
    """One queue, from its assignment until it is given up."""

    __slots__ = ("committing", "consumed", "failed", "frozen", "locked_until", "next_offset", "queue")

    def __init__(self, queue: MessageQueue, offset: int, locked_until: int) -> None:
        self.queue = queue
        self.next_offset = offset
        """What the next pull asks for."""
        self.consumed = offset
        """Behind the last message that the application was given."""
        self.failed: dict[int, tuple[Record, int]] = {}
        """By queue offset: messages that it could not handle and that are not sent back yet, and how often since."""
        self.frozen = False
        """The broker called its offset illegal: it is not used until it is set right."""
        self.locked_until = locked_until
        """Of an orderly consumer: when its lock counts no more, ns."""
        self.committing = False

    @property
    def progress(self) -> int:
        """Behind the last message consumed; no further than the first one that is still to be sent back."""
        return min(self.failed) if self.failed else self.consumed


@dataclass(slots=True)
class Shared:
    """One of each per consumer."""

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
        """Whether the queue may be consumed now: it is still the consumer's, and its lock, if it needs one, too."""
        if self.held.get(held.queue) is not held or held.frozen:
            return False
        return not self.settings.orderly or self.io.now() < held.locked_until
