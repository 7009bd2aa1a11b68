"""A small RocketMQ client, sans-IO: producers that send and readers that pull, many calls in flight at once.

One connection per (process, broker address). The outcome of each call is told once, see
:class:`pairproof.reference.core.calls.Outcome`. A process whose call ended in ``info`` is not used again, as in Jepsen:
its late answer could be taken for another's.
"""

from collections.abc import Hashable, Iterable

from pairproof.reference.client.node import CallingNode
from pairproof.reference.core.calls import CALL_TIMEOUT_NS, Calls, Done, Outcome
from pairproof.reference.ports import Effects
from pairproof.reference.wire import remoting
from pairproof.reference.wire.bodies_client import BatchItem, encode_batch

__all__ = ["Client", "Outcome"]


class Client(CallingNode):
    """All clients of one host. ``address`` is whatever the shell's ``connect`` understands, made unique per process.

    ``send_timeout_ns``: how long a send waits for its answer.
    """

    def __init__(self, io: Effects, send_timeout_ns: int = CALL_TIMEOUT_NS) -> None:
        self.io = io
        self.send_timeout_ns = send_timeout_ns
        self.calls = Calls(io)

    def send(
        self, address: str, topic: str, queue_id: int, body: bytes, properties: str, done: Done, flag: int = 0,
        sys_flag: int = 0,
    ) -> None:  # fmt: skip
        """Send one message. ``flag``: the application's, which a broker only keeps; ``sys_flag``: 1 if compressed."""
        opaque = self.calls.next_opaque()
        frame = remoting.send_request(
            opaque,
            producer_group="pairproof",
            topic=topic,
            queue_id=queue_id,
            born_ms=self.io.wall_ms(),
            body=body,
            properties=properties,
            flag=flag,
            sys_flag=sys_flag,
        )
        self.calls.call_frame(address, opaque, frame, done, self.send_timeout_ns)

    def send_batch(
        self, address: str, topic: str, queue_id: int, items: Iterable[BatchItem], properties: str, done: Done
    ) -> None:
        """Send several messages in one request; ``properties`` are those of the whole batch."""
        opaque = self.calls.next_opaque()
        frame = remoting.send_request(
            opaque,
            producer_group="pairproof",
            topic=topic,
            queue_id=queue_id,
            born_ms=self.io.wall_ms(),
            body=encode_batch(items),
            properties=properties,
            batch=True,
        )
        self.calls.call_frame(address, opaque, frame, done, self.send_timeout_ns)

    def pull(
        self, address: str, topic: str, queue_id: int, offset: int, max_messages: int, done: Done,
        tags: str = "*",
    ) -> None:  # fmt: skip
        """Pull up to ``max_messages`` from ``offset`` on, of all tags or of those in ``a || b``."""
        opaque = self.calls.next_opaque()
        frame = remoting.pull_request(
            opaque,
            consumer_group="pairproof",
            topic=topic,
            queue_id=queue_id,
            offset=offset,
            max_messages=max_messages,
            tags=tags,
        )
        self.calls.call_frame(address, opaque, frame, done)

    # What the shell tells us.

    def on_start(self) -> None:
        """Nothing happens until a call is made."""

    def on_stop(self) -> None:
        self.calls.close_all()

    def on_timer(self, key: Hashable) -> None:
        self.calls.on_timer(key)
