"""``ack-bounded``: every send is answered within the waits of the master's version, whatever happens to the slaves.

From 4.9.3 on max(syncFlushTimeout, slaveTimeout) from the append, before that syncFlushTimeout
(:data:`pairproof.harness.rocketmq.settings.LINES`): from 4.7.0 to 4.9.2 counted from the answer to the waiting send
that was stored before it, if that came later, and up to 4.6.1 once for the disk and then once more for the slave. From
the send where no append was seen; one round and the way back come on top. Any answer will do, a refusal too.

Left out: from 4.7.0 to 4.9.2 sends behind one whose answer nobody knows, or whose append nobody saw; and all that
``answering`` excuses. Source: CommitLog.submitFlushRequest and submitReplicaRequest,
handleDiskFlush and handleHA.
"""

from ....history import MS
from ...known.in_flight import Send
from ...settings import Line, line
from ...topology import MASTER
from .answering import AnswerTimes, Owed


class AckBounded(AnswerTimes):
    id = "ack-bounded"
    promise = (
        "While the master runs every send is answered within max(syncFlushTimeout, slaveTimeout); before 4.9.3 within "
        "syncFlushTimeout, from 4.7.0 on counted from its turn."
    )
    source = "CommitLog.submitFlushRequest, CommitLog.submitReplicaRequest"
    needs = frozenset({"config", "invoke", "ok"})

    def owed(self, call: Send) -> Owed | None:
        known = line(self.known.config.get(MASTER, {}))
        since_ns: int | None = call.invoked_ns if call.appended_ns is None else call.appended_ns
        if call.waits and known.most_from_turn and self.known.needed:
            since_ns = call.turn_ns()
        return None if since_ns is None else Owed(since_ns, self._longest_ms(known) * MS)

    def _longest_ms(self, known: Line) -> int:
        flush_ms, slave_ms = (self.known.setting(MASTER, key) for key in ("syncFlushTimeout", known.wait))
        if known.flush_first and self.known.sync_flush:
            return flush_ms + slave_ms
        return max(flush_ms, slave_ms)

    def promised(self, owed: Owed) -> str:
        known = line(self.known.config.get(MASTER, {}))
        longest = "its turn may take" if known.most_from_turn else "its waits may take"
        return f"{longest} {owed.within_ns // MS} ms (syncFlushTimeout, {known.wait})"
