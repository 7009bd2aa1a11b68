"""``ack-no-wait``: a send that waits for no slave is answered at once, whatever happens to slaves and HA links.

Checks:
- On an ASYNC_MASTER, on a 5.x SYNC_MASTER with inSyncReplicas=1, and for a message that asks not to wait: the answer
  comes within one service round and the way back. The time is counted from the append (from the send if none was
  recorded), or from the end of the flush if the message waits under SYNC_FLUSH.
Abstains when:
- No fault affects an HA link or a slave: a wait for a slave would be unnoticed.
- :mod:`pairproof.harness.rocketmq.laws.acks.answering` excuses the delay.
Source: CommitLog.submitReplicaRequest; handleHA of 5.x.
"""

from ....judging.law import CONVENTION, EventFilter
from ... import topology
from ...known.in_flight import Send
from .answering import AnswerTimes, Deadline

REPLICATION = (*topology.HA_LINKS, *topology.SLAVES)


class AckNoWait(AnswerTimes):
    kind = CONVENTION
    needs = frozenset({"config", "fault", "invoke", "ok"})
    awaits = {"fault": EventFilter(nodes=frozenset({*topology.SLAVES, None}))}

    def deadline(self, call: Send) -> Deadline | None:
        known = self.known
        if call.waits and known.needed:
            return None
        if all(known.disturbances.is_unaffected(target, call.began_ns) for target in REPLICATION):
            return None
        if call.waits and known.sync_flush:
            flushed_ns = self.flushed_ns(call)
            return None if flushed_ns is None else Deadline(flushed_ns, 0)
        return Deadline(call.began_ns, 0)

    def promised(self, deadline: Deadline) -> str:
        return "it had no slave to wait for"
