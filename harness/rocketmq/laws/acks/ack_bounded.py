"""``ack-bounded``: while the master runs, every send is answered within max(syncFlushTimeout, slaveTimeout); before
4.9.3 within syncFlushTimeout, counted from the send's turn since 4.7.0.

Checks:
- From 4.9.3 on: any answer within max(syncFlushTimeout, slaveTimeout) of the append, or of the send if no append was
  recorded, plus one service round and the way back.
- From 4.7.0 to 4.9.2: syncFlushTimeout, counted from the answer to the waiting send before it, if that is later.
- Up to 4.6.1: syncFlushTimeout for the disk, then again for the slave. See
  :data:`pairproof.harness.rocketmq.settings.LINES`.
Abstains when:
- From 4.7.0 to 4.9.2: the send before it has no known answer, or no recorded append.
- :mod:`pairproof.harness.rocketmq.laws.acks.answering` excuses the delay.
Source: CommitLog.submitFlushRequest, submitReplicaRequest, handleDiskFlush, handleHA.
"""

from ....history import MS
from ...known.in_flight import Send
from ...settings import Line, line
from ...topology import MASTER
from .answering import AnswerTimes, Deadline


class AckBounded(AnswerTimes):
    needs = frozenset({"config", "invoke", "ok"})

    def deadline(self, call: Send) -> Deadline | None:
        known = line(self.known.config.get(MASTER, {}))
        since_ns: int | None = call.began_ns
        if call.waits and known.most_from_turn and self.known.needed:
            since_ns = call.turn_ns()
        return None if since_ns is None else Deadline(since_ns, self._longest_ms(known) * MS)

    def _longest_ms(self, known: Line) -> int:
        flush_ms, slave_ms = (self.known.setting(MASTER, key) for key in ("syncFlushTimeout", known.wait))
        if known.flush_first and self.known.sync_flush:
            return flush_ms + slave_ms
        return max(flush_ms, slave_ms)

    def promised(self, deadline: Deadline) -> str:
        known = line(self.known.config.get(MASTER, {}))
        longest = "its turn may take" if known.most_from_turn else "its waits may take"
        return f"{longest} {deadline.within_ns // MS} ms (syncFlushTimeout, {known.wait})"
