"""``route-reported``: a master that creates or changes a topic registers it with the name server immediately.

Checks:
- For each topic that an administrator creates or changes at the master: a registration of the master is answered
  (``register``) between the request and a second after its answer. Master, name server and link have been undisturbed
  from ``SETTLED_NS`` before.
Abstains when:
- The master has never registered: there may be no name server.
- The change changes nothing in the history, or an earlier one's result is unknown.
- The broker created the topic itself. The content of the registration is not recorded.
Source: AdminBrokerProcessor.updateAndCreateTopic, BrokerController.registerIncrementBrokerData.
"""

from ....event_types.client import Fail, Info, Ok
from ....event_types.node import Crash, Stop, Wipe
from ....history import MS, Event
from ....judging.law import only
from ...event_types.metadata import Register
from ...known.deadlines import Deadline, Deadlines
from ...known.metadata import TOPICS
from ...law import Law
from ...topology import MASTER, NAMES

REGISTER_NS = 1_000 * MS
SETTLED_NS = 10_000 * MS
"""A registration without an answer delays the next one by 6 s."""
LINK = f"names-{MASTER}"
UNKNOWN = "unknown"


class RouteReported(Law):
    id = "route-reported"
    promise = "A master that creates or changes a topic registers it with the name server immediately."
    source = "AdminBrokerProcessor.updateAndCreateTopic: registerIncrementBrokerData"
    needs = frozenset({"invoke", "ok", "register"})
    timed = True

    def begin(self) -> None:
        self.topics: dict[str | None, str | None] = {}
        """By topic: the settings of its last change."""
        self.registered_at = -1
        self.unregistered = Deadlines[Ok](self, self._late)

    @only("topic", node=MASTER)
    def on_ok(self, event: Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is None:
            return
        asked = begun.call
        # The first settings of a topic that clients use are unknown.
        is_used = (TOPICS, event.message) in self.known.tables.used
        before = self.topics.get(event.message, UNKNOWN if is_used else None)
        others = (each.call for each in self.known.calls.open_at(MASTER) if each is not begun)
        overlap = any((each.f, each.message) == ("topic", event.message) for each in others)
        self.topics[event.message] = UNKNOWN if overlap else asked.detail
        if before in (asked.detail, UNKNOWN):
            return
        if self.registered_at >= asked.t:
            self.judged += 1
        elif self.registered_at >= 0:
            bound = REGISTER_NS + self.known.healthy_ns
            self.unregistered.begin(event, event.t, bound, MASTER, NAMES, LINK, settled=SETTLED_NS)

    @only("topic", node=MASTER)
    def on_fail(self, event: Fail | Info) -> None:
        self.topics[event.message] = UNKNOWN

    on_info = on_fail

    @only(node=MASTER)
    def on_register(self, event: Register) -> None:
        if event.status == "ok":
            self.registered_at = event.t
            self.unregistered.report_missed(event)
            self.judged += len(self.unregistered)
            self.unregistered.clear()

    @only(node=(MASTER, NAMES))
    def on_crash(self, event: Crash | Stop) -> None:
        self.unregistered.report_missed(event)
        self.unregistered.clear()

    on_stop = on_crash

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.topics = dict.fromkeys(self.topics, UNKNOWN)

    def end(self, last: Event) -> None:
        self.unregistered.report_missed(last)

    def _late(self, event: Event, ok: Ok, due: Deadline) -> None:
        self.judged += 1
        late = (event.t - due.since) // MS
        self.violate(ok, f"{ok.message} was changed, and not registered for {late} ms", due.since, event.t)
