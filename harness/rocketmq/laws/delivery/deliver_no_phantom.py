"""``deliver-no-phantom``: what is delivered was sent: that message, from its own queue, byte for byte.

Judged for every delivery, to consumers and to plain readers. Its key must be that of a send, its queue that send's and
the one that was pulled. Where the master's appends are seen, its record must be one that was put at that place. Every
delivery of a message from one place must have the same bytes, and so must the record there that a store reader sees at
a node that delivered it; body, key and tags are then the same. A message that was sent once has the same queue offset
in all deliveries.

Left out: delayed messages, which a restarted master may deliver again, see ``deliver-delayed``; clients that send again
without saying so; a queue of a retry topic, which belongs to a group and not to its messages' senders; records of a
batch, whose append is one piece, are judged by key and queue.
Source: PullMessageProcessor hands out the log's own bytes.
"""

from ....event_types.client import Deliver
from ....judging.law import DURABILITY, EVERY
from ....texts.content import payload
from ...event_types.log import Record
from ...law import Law
from .sent_back import RETRY


class DeliverNoPhantom(Law):
    id = "deliver-no-phantom"
    kind = DURABILITY
    promise = "No message is delivered that was not sent, or with another body, key, tag or queue than its send's."
    source = "PullMessageProcessor: a pull's answer is the log's own bytes"
    needs = frozenset({"invoke", "deliver"})
    awaits = {"deliver": EVERY}

    def begin(self) -> None:
        self.digests: dict[tuple[str | None, int | None], int] = {}
        """What was delivered: message and place, and the bytes' digest."""
        self.givers: set[tuple[str | None, str | None, int | None]] = set()
        """Who delivered what: node, message and place."""
        self.offsets: dict[str | None, int | None] = {}
        """Under which queue offset messages were first delivered."""

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
        # A negative number leaves the choice to the broker.
        queue = None if (send.queue or "").rpartition("/")[2].startswith("-") else send.queue
        if not event.queue.startswith(RETRY):
            if queue is not None and event.queue != queue:
                self.violate(event, f"{event.node} delivered {message} from {event.queue}; it was sent to {queue}")
                return
            self._judge_place(event)
        if digest is None:
            return
        is_back = event.queue.startswith(RETRY)
        self.givers.add((event.node, message, event.lo))
        # What is sent back once more may come to lie where a copy was lost.
        known = digest if is_back else self.digests.setdefault((message, event.lo), digest)
        puts = [(put.hi, put.digest, put.message) for put in self.known.sent.puts.get(event.lo or 0, ())]
        if (event.hi, digest, message) not in puts and any(put[1] is not None for put in puts):
            self.violate(event, f"{event.node} delivered {message} otherwise than it was put at {event.lo}")
        elif known != digest and message not in self.known.sent.repeated:
            self.violate(event, f"{event.node} delivered {message} with other bytes than were delivered before")

    def _judge_place(self, event: Deliver) -> None:
        first = self.offsets.setdefault(event.message, event.queue_offset)
        if first != event.queue_offset and event.message not in self.known.sent.repeated:
            where = f"{event.message} at {event.queue_offset} of {event.queue}"
            self.violate(event, f"{event.node} delivered {where}; it was sent once, and was at {first} before")

    def on_record(self, event: Record) -> None:
        """A node's log may be spliced from two masters' records after a promotion: only who delivered it is judged."""
        if event.digest is None or (event.node, event.message, event.lo) not in self.givers:
            return
        known = self.digests.get((event.message, event.lo), event.digest)
        is_one = event.message not in self.known.sent.repeated and "times" not in payload(event.detail)
        if known != event.digest and is_one:
            self.violate(event, f"{event.message} was delivered with other bytes than {event.node} has at {event.lo}")
