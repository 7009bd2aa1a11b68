"""``role-slave-serves``: while the master is down, what a slave has can be pulled from it.

Judged for pulls that begin and end while the master is down: if the offset asked for lies in the slave's queue, the
answer holds the message at that offset, or at least goes on behind it if the pull asks for some tags only. It lies
there if the slave says so itself in its answer; or if the master once delivered a message from there, the slave has all
of that message's bytes, and it had derived its queues from them before the pull. A slave that does not have its topic
or group yet, or on which these forbid it, may say so; one that refuses as not ready or busy does not serve.

With slaveReadEnable off a slave serves all the same, and suggests broker 0 (4.9, whose code 20 for "not here" is
overwritten by that for what was found); one of 5.x may refuse as busy, which it does.

Left out: diverged slaves; messages that the master lost; what pulls bring that began before the master was
started, or a store replaced; a slave's own answer once its oldest files have expired. Sources:
PullMessageProcessor.processRequest and rejectRequest (5.x), DefaultMessageStore.getMessage.
"""

from typing import NamedTuple

from ....event_types.client import Fail, Invoke, Ok
from ....event_types.node import Config
from ....judging.law import only
from ...event_types.log import Expire
from ...known.calls import Begun
from ...known.consumed import subscribed
from ...law import Law
from ...settings import is_on, parse, refuses_reads
from ...topology import MASTER, NO_SLAVES
from ..questions.asked import BUSY

REFUSALS = frozenset({"SERVICE_NOT_AVAILABLE", BUSY, "REQUEST_CODE_NOT_SUPPORTED"})


class Serves(NamedTuple):
    """How a slave is set."""

    reads: bool
    """slaveReadEnable."""
    may_refuse: bool


class RoleSlaveServes(Law):
    id = "role-slave-serves"
    promise = "While the master is down every message that a slave has can be pulled from it."
    source = "PullMessageProcessor: slaveReadEnable; DefaultMessageStore.getMessage"
    needs = frozenset({"config", "start", "invoke", "ok", "deliver"})

    def begin(self) -> None:
        self.slaves: dict[str, Serves] = {}
        self.expired: set[str | None] = set()

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if settings.get("brokerRole") == "SLAVE":
            reads = is_on(settings, "slaveReadEnable")
            self.slaves[event.node] = Serves(reads, refuses_reads(settings))
        self.applicable = bool(self.slaves)

    # What slaves have.

    def on_expire(self, event: Expire) -> None:
        """The oldest files of a log are gone, and their queues' entries may not be yet."""
        self.expired.add(event.node)

    def _has(self, begun: Begun[Invoke]) -> bool:
        """Whether the slave had what is asked for, and had derived its queues from that, when the pull began."""
        known, slave = self.known, begun.call.node
        seen = known.positions.content(MASTER).get((begun.call.queue, begun.call.asked_from), ())
        if len(seen) != 1 or slave in known.logs.diverged:
            return False
        ((lo, hi),) = seen
        end = min(begun.log_end or 0, begun.dispatched, known.logs.own_end(slave) or 0)
        return hi <= end and known.logs.starts.get(slave, lo + 1) <= lo

    # What is asked of them.

    def _asked(self, event: Ok | Fail) -> Begun[Invoke] | None:
        """How a pull began that a slave answers, if the master is down since then."""
        begun = self.known.calls.begun(event) if event.node in self.slaves else None
        return begun if begun is not None and self.known.nodes.is_down_since(MASTER, begun.call) else None

    @only("pull", but=NO_SLAVES)
    def on_ok(self, event: Ok) -> None:
        begun = self._asked(event)
        if begun is None:
            return
        slave, offset = event.node, begun.call.asked_from or 0
        if event.broker and not self.slaves[slave].reads:
            self.violate(event, f"{slave} suggests broker {event.broker}, and slaveReadEnable is off")
        if not self._has(begun) and not self._claims(event, offset):
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

    def _claims(self, ok: Ok, offset: int) -> bool:
        """Whether the slave says that the offset lies in its queue."""
        if ok.lo is None or ok.hi is None or ok.node in self.expired or ok.node in self.known.logs.diverged:
            return False
        return ok.lo <= offset < ok.hi

    @only("pull", but=NO_SLAVES)
    def on_fail(self, event: Fail) -> None:
        if self._asked(event) is None or event.status not in REFUSALS:
            return
        self.judged += 1
        if not (event.status == BUSY and self.slaves[event.node].may_refuse):
            self.violate(event, f"{event.node} does not serve while its master is down: {event.status}")
