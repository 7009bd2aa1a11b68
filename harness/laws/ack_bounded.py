"""``ack-bounded``: every send is answered within max(syncFlushTimeout, slaveTimeout), whatever happens to the slaves.

Counted from the append, or from the send where no append was seen; one round and the way back come on top. Any answer
will do, a refusal too.

Left out: versions whose transfer thread waits for one send after the other (up to 4.9.2): there the bound grows with
the queue; and all that :mod:`pairproof.harness.laws.answering` excuses. Source: CommitLog.submitFlushRequest and
submitReplicaRequest.
"""

from __future__ import annotations

from pairproof.harness.history import Event
from pairproof.harness.laws.answering import MS, AnswerTimes, Call, Owed
from pairproof.harness.laws.ledger import MASTER
from pairproof.harness.settings import line, parse


class AckBounded(AnswerTimes):
    """See the module."""

    id = "ack-bounded"
    promise = "While the master runs every send is answered within max(syncFlushTimeout, slaveTimeout)."
    source = "CommitLog.submitFlushRequest, CommitLog.submitReplicaRequest"
    needs = frozenset({"config", "invoke", "ok"})

    def on_config(self, event: Event) -> None:
        """The master's version."""
        if event.node == MASTER:
            self.applicable = not line(parse(event.detail or "{}")).in_turn

    def owed(self, call: Call) -> Owed:
        """An answer, from when the message was there."""
        since_ns = call.invoked_ns if call.appended_ns is None else call.appended_ns
        longest = max(self.ledger.setting(MASTER, key) for key in ("syncFlushTimeout", "slaveTimeout"))
        return Owed(since_ns, longest * MS)

    def promised(self, owed: Owed) -> str:
        """The rest of a sentence that says what was too late."""
        return f"max(syncFlushTimeout, slaveTimeout) is {owed.within_ns // MS} ms"
