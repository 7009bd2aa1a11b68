"""``role-slave-serves``: while the master is down every message that a slave has can be pulled from it.

Checks:
- A pull that begins and ends while the master is down is answered with the message at the requested offset, if that is
  in the slave's queue; a pull by tag may continue after it. The offset is there if the slave's answer reports it, or if
  the master once delivered a message from there, all of whose bytes the slave had received and dispatched before the
  pull.
- The slave does not refuse as not ready or busy. It may report a missing or forbidden topic or group.
- With slaveReadEnable off a slave serves as well, and suggests broker 0 (4.9 overwrites its code 20 for "not here");
  5.x may refuse as busy.
Abstains when:
- The slave diverged, or the master lost the message.
- The pull began before the master's start, or before a store was replaced.
- For the slave's own report: its oldest files have expired.
Source: PullMessageProcessor.processRequest (slaveReadEnable) and rejectRequest (5.x), DefaultMessageStore.getMessage.
"""

from ....event_types.client import Fail, Invoke, Ok
from ....judging.law import only
from ...known.calls import Begun
from ...known.consumed import subscribed
from ...law import SlaveLaw
from ...settings import is_on, refuses_reads
from ...topology import MASTER, NO_SLAVES
from ..questions.asked import BUSY

REFUSALS = frozenset({"SERVICE_NOT_AVAILABLE", BUSY, "REQUEST_CODE_NOT_SUPPORTED"})


class RoleSlaveServes(SlaveLaw):
    needs = frozenset({"config", "start", "invoke", "ok", "deliver"})

    def _has(self, begun: Begun[Invoke]) -> bool:
        """Whether the slave had received and dispatched the message when the pull began."""
        known, slave = self.known, begun.call.node
        seen = known.positions.content(MASTER).get((begun.call.queue, begun.call.asked_from), ())
        if len(seen) != 1 or slave in known.logs.diverged:
            return False
        ((lo, hi),) = seen
        end = min(begun.log_end or 0, begun.dispatched, known.logs.own_end(slave) or 0)
        return hi <= end and known.logs.starts.get(slave, lo + 1) <= lo

    def _asked(self, event: Ok | Fail) -> Begun[Invoke] | None:
        """The pull that a slave answers, if the master has been down since its begin."""
        begun = self.known.calls.begun(event) if event.node in self.slaves else None
        return begun if begun is not None and self.known.nodes.is_down_since(MASTER, begun.call) else None

    @only("pull", but=NO_SLAVES)
    def on_ok(self, event: Ok) -> None:
        begun = self._asked(event)
        if begun is None:
            return
        slave, offset = event.node, begun.call.asked_from or 0
        if event.broker and not is_on(self.slaves[slave], "slaveReadEnable"):
            self.violate(event, f"{slave} suggests broker {event.broker}, and slaveReadEnable is off")
        if not self._has(begun) and not self._reports(event, offset):
            return
        self.judged += 1
        if subscribed(begun.call.detail) is not None and (event.queue_offset or 0) > offset:
            return
        found = begun.brought[0].queue_offset if begun.brought else None
        if found != offset:
            got = "nothing" if found is None else f"offset {found}"
            self.violate(
                event, f"{slave} has offset {offset} of {event.queue}, and a pull there was answered with {got}"
            )

    def _reports(self, ok: Ok, offset: int) -> bool:
        """Whether the slave reports that the offset is in its queue."""
        # Queues may still have entries for files that have expired.
        unsure = ok.node in self.known.stores.expired or ok.node in self.known.logs.diverged
        if ok.lo is None or ok.hi is None or unsure:
            return False
        return ok.lo <= offset < ok.hi

    @only("pull", but=NO_SLAVES)
    def on_fail(self, event: Fail) -> None:
        if self._asked(event) is None or event.status not in REFUSALS:
            return
        self.judged += 1
        if not (event.status == BUSY and refuses_reads(self.slaves[event.node])):
            self.violate(event, f"{event.node} refuses pulls while its master is down: {event.status}")
