"""``route-reported``: a master that makes or changes a topic tells the name server at once, not at its next period.

Judged for topics that an administrator makes or changes at the master, by the name server's next answer to a
registration of the master's (``register``): one must come between the administrator's question and a second after its
answer. Only where nothing was wrong with the master, the name server and the link between them since 10 s before.

Left out: masters that never registered, since there may be no name server; changes that change nothing as far as the
history tells, which RocketMQ registers and others need not; topics of which an earlier change is not known to have
happened or not; topics that brokers make by themselves; what the registration says.
Source: AdminBrokerProcessor.updateAndCreateTopic, BrokerController.registerIncrementBrokerData.
"""

from ....event_types.client import Fail, Info, Ok
from ....event_types.node import Crash, Stop, Wipe
from ....history import MS, Event
from ....judging.law import only
from ...event_types.metadata import Register
from ...known.deadlines import Deadline, Deadlines
from ...law import Law
from ...topology import MASTER, NAMES

TOLD_NS = 1_000 * MS
SETTLED_NS = 10_000 * MS
"""A registration that nobody answers holds the next one up for 6 s."""
LINK = f"names-{MASTER}"
UNKNOWN = "unknown"


class RouteReported(Law):
    id = "route-reported"
    promise = "A master that makes or changes a topic registers it with the name server at once."
    source = "AdminBrokerProcessor.updateAndCreateTopic: registerIncrementBrokerData"
    needs = frozenset({"invoke", "ok", "register"})
    timed = True

    def begin(self) -> None:
        self.topics: dict[str | None, str | None] = {}
        """What topics were last changed to."""
        self.told = -1
        """When the master was last answered by the name server, ns."""
        self.untold = Deadlines[Ok](self, self._late)
        """By change that no registration was answered since."""

    @only("topic", node=MASTER)
    def on_ok(self, event: Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is None:
            return
        asked = begun.call
        before = self.topics.get(event.message)
        others = (each.call for each in self.known.calls.open_at(MASTER) if each is not begun)
        overlap = any((each.f, each.message) == ("topic", event.message) for each in others)
        self.topics[event.message] = UNKNOWN if overlap else asked.detail
        if before in (asked.detail, UNKNOWN):
            return
        if self.told >= asked.t:
            self.judged += 1
        elif self.told >= 0:
            bound = TOLD_NS + self.known.healthy_ns
            self.untold.begin(event, event.t, bound, MASTER, NAMES, LINK, settled=SETTLED_NS)

    @only("topic", node=MASTER)
    def on_fail(self, event: Fail | Info) -> None:
        self.topics[event.message] = UNKNOWN

    on_info = on_fail

    @only(node=MASTER)
    def on_register(self, event: Register) -> None:
        if event.status == "ok":
            self.told = event.t
            self.untold.report_missed(event)
            self.judged += len(self.untold)
            self.untold.clear()

    @only(node=(MASTER, NAMES))
    def on_crash(self, event: Crash | Stop) -> None:
        self.untold.report_missed(event)
        self.untold.clear()

    on_stop = on_crash

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        """Another store has topics of its own."""
        self.topics = dict.fromkeys(self.topics, UNKNOWN)

    def end(self, last: Event) -> None:
        self.untold.report_missed(last)

    def _late(self, event: Event, ok: Ok, due: Deadline) -> None:
        self.judged += 1
        late = (event.t - due.since) // MS
        self.violate(ok, f"{ok.message} was changed, and not registered for {late} ms", due.since, event.t)
