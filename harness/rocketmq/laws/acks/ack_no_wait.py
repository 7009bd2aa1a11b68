"""``ack-no-wait``: who waits for no slave is answered at once, while slaves and HA links are in trouble.

Nobody waits for a slave on an ASYNC_MASTER, on a 5.x SYNC_MASTER whose inSyncReplicas is 1, or with a message that asks
not to wait. Counted from the append (from the send where none was seen), and for a message that waits under SYNC_FLUSH
from the end of its flush; one round and the way back come on top. Judged only while a fault touches an HA link or a
slave: without one nobody can tell who waits.

Left out: flushes that end too late, see ``ack-bounded``. Source: CommitLog.submitReplicaRequest, handleHA of 5.x.
"""

from ....judging.law import CONVENTION, EventFilter
from ... import topology
from ...known.in_flight import Send
from .answering import AnswerTimes, Owed

REPLICATION = (*topology.HA_LINKS, *topology.SLAVES)


class AckNoWait(AnswerTimes):
    id = "ack-no-wait"
    kind = CONVENTION
    promise = "A send that waits for no slave is answered at once, whatever happens to slaves and HA links."
    source = "CommitLog.submitReplicaRequest"
    needs = frozenset({"config", "fault", "invoke", "ok"})
    awaits = {"fault": EventFilter(nodes=frozenset({*topology.SLAVES, None}))}

    def owed(self, call: Send) -> Owed | None:
        known = self.known
        if call.waits and known.needed:
            return None
        since_ns = call.invoked_ns if call.appended_ns is None else call.appended_ns
        if all(known.disturbances.is_unaffected(place, since_ns) for place in REPLICATION):
            return None
        if call.waits and known.sync_flush:
            flushed_ns = self.flushed_ns(call)
            return None if flushed_ns is None else Owed(flushed_ns, 0)
        return Owed(since_ns, 0)

    def promised(self, owed: Owed) -> str:
        return "it had no slave to wait for"
