"""``deliver-no-phantom``: each delivered message was sent, with the same body, key, tag and queue.

Checks:
- A delivery has a send's key, and its queue is that send's and the pulled one.
- If the master's appends are recorded, one was made at that log offset with the same end and bytes.
- All deliveries of a message from one log offset have the same bytes, as does the record that a store reader finds
  there on the delivering node.
- All deliveries of a message that was sent once have the same queue offset.
Abstains when:
- The message is delayed: a restarted master may repeat it (``deliver-delayed``).
- The record may mix two logs: its node is diverged, and several frames brought it.
- A client sends again without recording it.
- For the queue: it is a retry topic's, which belongs to a group, not to the sender.
- For the bytes: the record is part of a batch, which is one append.
Source: PullMessageProcessor: a pull's answer is the log's own bytes.
"""

from ....event_types.client import Deliver
from ....judging.law import DURABILITY, EVERY, only
from ....texts.content import payload
from ...event_types.log import Record
from ...known.circumstances import MIXED
from ...known.metadata import RETRY
from ...law import Law


class DeliverNoPhantom(Law):
    kind = DURABILITY
    needs = frozenset({"invoke", "deliver"})
    awaits = {"deliver": EVERY}

    def begin(self) -> None:
        self.digests: dict[tuple[str | None, int | None], int] = {}
        """By message and log offset: the digest of the delivered bytes."""
        self.deliveries: set[tuple[str | None, str | None, int | None]] = set()
        self.offsets: dict[str | None, int | None] = {}
        """By message: the queue offset of its first delivery."""

    @only(unless=(MIXED,))
    def on_deliver(self, event: Deliver) -> None:
        self.judged += 1
        message, digest = event.message, event.digest
        send = self.known.sent.sends.get(message)
        if send is None:
            what = f"{message}, which nobody sent" if message is not None else "a message without a key"
            self.violate(event, f"{event.node} delivered {what}")
            return
        begun = self.known.calls.begun(event)
        if begun is not None and begun.call.queue not in (None, event.queue):
            what = f"{message} of {event.queue} to a {event.f} from {begun.call.queue}"
            self.violate(event, f"{event.node} delivered {what}")
            return
        # The broker chooses for a negative number.
        queue = None if (send.queue or "").rpartition("/")[2].startswith("-") else send.queue
        if not event.queue.startswith(RETRY):
            if queue is not None and event.queue != queue:
                self.violate(event, f"{event.node} delivered {message} from {event.queue}; it was sent to {queue}")
                return
            self._judge_offset(event)
        if digest is None:
            return
        is_back = event.queue.startswith(RETRY)
        self.deliveries.add((event.node, message, event.lo))
        # A message that is sent back again may reuse the offset of a lost copy.
        known = digest if is_back else self.digests.setdefault((message, event.lo), digest)
        puts = [(put.hi, put.digest, put.message) for put in self.known.sent.puts.get(event.lo or 0, ())]
        if (event.hi, digest, message) not in puts and any(put[1] is not None for put in puts):
            self.violate(event, f"{event.node} delivered {message} otherwise than it was put at {event.lo}")
        elif known != digest and message not in self.known.sent.repeated:
            self.violate(event, f"{event.node} delivered {message} with other bytes than were delivered before")

    def _judge_offset(self, event: Deliver) -> None:
        first = self.offsets.setdefault(event.message, event.queue_offset)
        if first != event.queue_offset and event.message not in self.known.sent.repeated:
            where = f"{event.message} at {event.queue_offset} of {event.queue}"
            self.violate(event, f"{event.node} delivered {where}; it was sent once, and was at {first} before")

    def on_record(self, event: Record) -> None:
        """Only for nodes that delivered it: after a promotion a log may mix two masters' records."""
        if event.digest is None or (event.node, event.message, event.lo) not in self.deliveries:
            return
        known = self.digests.get((event.message, event.lo), event.digest)
        is_one = event.message not in self.known.sent.repeated and "times" not in payload(event.detail)
        if known != event.digest and is_one:
            self.violate(event, f"{event.message} was delivered with other bytes than {event.node} has at {event.lo}")
