"""A stored message's answer waits for its flush and its replicas, in parallel.

The flush status is set first; the replica status overrides it. Source: CommitLog.asyncPutMessage, handleDiskFlush and
handleHA (submitFlushRequest, submitReplicaRequest).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..wire.record import Message
from .config import BrokerConfig
from .ha_master import HaMaster
from .store import MessageStore, Stored

Answer = Callable[[str], None]
"""Called once with PUT_OK, FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT or SLAVE_NOT_AVAILABLE."""
Later = Callable[[Callable[[], None]], None]
"""Schedules a callback once, soon; repeated calls are merged."""
MAX_KEPT_BACK = 8 * 1024
"""Bytes of the log that may wait for more before they are pushed."""


@dataclass(slots=True, eq=False)
class PendingPut:
    answer: Answer
    flush: str | None = None
    replica: str | None = None

    def flushed(self, status: str) -> None:
        self.flush = status
        self._settle()

    def replicated(self, status: str) -> None:
        self.replica = status
        self._settle()

    def _settle(self) -> None:
        if self.flush is not None and self.replica is not None:
            self.answer(self.replica if self.replica != "PUT_OK" else self.flush)


class Puts:
    def __init__(self, config: BrokerConfig, store: MessageStore, ha: HaMaster) -> None:
        self.config = config
        self.store = store
        self.ha = ha
        self._sent_on = 0

    def waits_for_slave(self, wait: bool) -> bool:
        return wait and self.config.slaves_to_wait_for > 0

    def waits_for_flush(self, wait: bool) -> bool:
        return wait and self.store.flusher.sync

    def put(self, message: Message) -> Stored:
        return self.store.put(message)

    def put_batch(self, messages: Sequence[Message]) -> list[Stored]:
        return self.store.put_batch(messages)

    def settle(self, end: int, wait: bool, answer: Answer, later: Later | None = None) -> None:
        """Decide what the answer waits for, then start flush and push.

        With ``later``, messages that arrived together reach the slaves in one frame.
        """
        pending = PendingPut(answer)
        flusher = self.store.flusher
        if not self.waits_for_slave(wait):
            pending.replica = "PUT_OK"
        elif not self.ha.slave_available(end):
            pending.replica = "SLAVE_NOT_AVAILABLE"
        else:
            self.ha.await_slave(end, pending.replicated)
            if self.ha.flushed_only:
                # It is pushed only after the flush, and a whole flush interval is a long wait.
                flusher.urge()
        if self.waits_for_flush(wait):
            flusher.wait(end, pending.flushed)
        else:
            pending.flushed("PUT_OK")
        flusher.grown()
        if later is None or end - self._sent_on > MAX_KEPT_BACK:
            self._send_on()
        else:
            later(self._send_on)

    def _send_on(self) -> None:
        self._sent_on = self.store.log.end
        self.ha.wake()
