"""A small RocketMQ client, sans-IO: sends and pulls, many calls in flight at once.

One connection per (process, broker address). Each call's outcome is reported once, see
:class:`pairproof.reference.core.calls.Outcome`. A process whose call ended in ``info`` is not used again, as in Jepsen:
its late answer could be taken for another's.
"""

from collections.abc import Callable, Hashable, Iterable

from ..core.calls import CALL_TIMEOUT_NS, Calls, Done, Outcome
from ..ports import Effects
from ..wire import headers, remoting
from ..wire.bodies_client import BatchItem, encode_batch
from ..wire.headers import RequestCode
from .alarms import Alarms
from .node import CallingNode

__all__ = ["Client", "Outcome"]

GROUP = "pairproof"
LATER = "later"


class Client(CallingNode):
    """All clients of one host. ``address`` is in the format of the shell's ``connect``, made unique per process.

    ``send_timeout_ns``: how long a send waits for its answer.
    """

    def __init__(self, io: Effects, send_timeout_ns: int = CALL_TIMEOUT_NS) -> None:
        self.io = io
        self.send_timeout_ns = send_timeout_ns
        self.calls = Calls(io)
        self.alarms = Alarms(io, LATER)
        self._later: dict[int, Callable[[], None]] = {}
        self._next_later = 0

    def later(self, delay_ns: int, act: Callable[[], None]) -> None:
        self._later[self._next_later] = act
        self.alarms.after(delay_ns, self._next_later)
        self._next_later += 1

    def send(
        self, address: str, topic: str, queue_id: int, body: bytes, properties: str, done: Done, flag: int = 0,
        sys_flag: int = 0, batch: bool = False,
    ) -> None:  # fmt: skip
        """Send one message, or with ``batch`` the batch in ``body``. ``flag``: the application's, stored unchanged;
        ``sys_flag``: 1 if compressed.
        """
        opaque = self.calls.next_opaque()
        frame = remoting.send_request(
            opaque,
            producer_group=GROUP,
            topic=topic,
            queue_id=queue_id,
            born_ms=self.io.wall_ms(),
            body=body,
            properties=properties,
            flag=flag,
            sys_flag=sys_flag,
            batch=batch,
        )
        self.calls.call_frame(address, opaque, frame, done, self.send_timeout_ns)

    def send_batch(
        self, address: str, topic: str, queue_id: int, items: Iterable[BatchItem], properties: str, done: Done
    ) -> None:
        self.send(address, topic, queue_id, encode_batch(items), properties, done, batch=True)

    def end_transaction(
        self, address: str, message: str, half: tuple[int, int], decision: int, done: Done
    ) -> None:  # fmt: skip
        """Commit or roll back a half message. ``half``: its record's log offset and its queue offset; ``message``: its
        id. RocketMQ's own producers send this one-way.
        """
        values = {
            "producerGroup": GROUP,
            "tranStateTableOffset": half[1],
            "commitLogOffset": half[0],
            "commitOrRollback": decision,
            "fromTransactionCheck": False,
            "msgId": message,
            "transactionId": message,
        }
        fields = headers.encode_request(RequestCode.END_TRANSACTION, values)
        self.calls.call(address, RequestCode.END_TRANSACTION, fields, b"", done, self.send_timeout_ns)

    def pull(
        self, address: str, topic: str, queue_id: int, offset: int, max_messages: int, done: Done,
        tags: str = "*",
    ) -> None:  # fmt: skip
        """Pull up to ``max_messages`` from ``offset`` on, with any tag or those in ``a || b``."""
        opaque = self.calls.next_opaque()
        frame = remoting.pull_request(
            opaque,
            consumer_group=GROUP,
            topic=topic,
            queue_id=queue_id,
            offset=offset,
            max_messages=max_messages,
            tags=tags,
        )
        self.calls.call_frame(address, opaque, frame, done)

    def on_stop(self) -> None:
        self.alarms.cancel_all()
        self.calls.close_all()

    def on_timer(self, key: Hashable) -> None:
        if isinstance(key, tuple) and key[0] == LATER:
            self.alarms.fired(key[1])
            self._later.pop(key[1])()
        else:
            self.calls.on_timer(key)
