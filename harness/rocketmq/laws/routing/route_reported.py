"""``route-reported``: a broker registers with the name server in each registration period, with its topics; a master
that creates or changes a topic does so immediately.

Checks:
- After the end of each registration, answered or not (``register``), a broker's next one ends within its period, the
  6 s of a call, and a second.
- For each topic that an administrator creates or changes at the master: a registration of the master is answered
  (``register``) between the request and a second after its answer. Master, name server and link have been undisturbed
  from ``SETTLED_NS`` before.
- The name server has each topic of the master's table (``routed``) with its queues and its permissions, as far as
  brokerPermission leaves them, if it has registered the version of that table.
Abstains when:
- The broker is a black box, of which only answers are recorded, and it, the name server or their link was disturbed.
- The broker was paused: this time does not count.
- The master has never registered: there may be no name server.
- The change changes nothing in the history, or an earlier one's result is unknown.
- The broker created the topic itself: when it registered is not judged.
- The master's store was replaced, or a second master registered the name: two stores may give a version to different
  topics, and the name server forgets all topics of the name with the last of its masters.
Source: BrokerController.start (registerBrokerAll), AdminBrokerProcessor.updateAndCreateTopic,
BrokerController.registerIncrementBrokerData.
"""

from ....event_types.client import Fail, Info, Ok
from ....event_types.node import Wipe
from ....history import MS, Event
from ....judging.law import only
from ....texts.content import payload
from ...contract import WIPE
from ...event_types.metadata import Register, Routed, Table
from ...known.deadlines import Deadline, Deadlines
from ...known.metadata import TOPICS, entries
from ...known.tables import ABSENT, READ, WRITE, Value, requested
from ...law import Law
from ...settings import registration_ms
from ...topology import MASTER, NAMES, OTHER

REGISTER_NS = 1_000 * MS
CALL_NS = 6_000 * MS
"""registerBrokerTimeoutMills."""
SETTLED_NS = 10_000 * MS
"""A registration without an answer delays the next one by 6 s."""
LINK = f"names-{MASTER}"
CHANGES, PERIODS, FAILURES, CONTENT = "changes", "periods", "periods after a failure", "registered topics"
OPEN = READ | WRITE


class RouteReported(Law):
    needs = frozenset({"invoke", "ok", "register"})
    parts = (CHANGES, PERIODS, FAILURES, CONTENT)
    timed = True

    def begin(self) -> None:
        self.topics: dict[str | None, Value | None] = {}
        """By topic: the settings of its last change; None: unknown."""
        self.registered_at = -1
        self.unregistered = Deadlines[Ok](self, self._late)
        self.next = Deadlines[str](self, self._silent)
        """By broker: its next registration."""
        self.failed: set[str] = set()
        """Brokers whose last registration was not answered."""
        self.table: Table | None = None
        """The master's topics when they were last read."""

    @only("topic", node=MASTER)
    def on_ok(self, event: Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is None:
            return
        asked, settings = begun.call, requested(begun.call.detail or "{}")
        # The first settings of a topic that clients use are unknown.
        is_used = (TOPICS, event.message) in self.known.tables.used
        before = self.topics.get(event.message, None if is_used else ABSENT)
        others = (each.call for each in self.known.calls.open_at(MASTER) if each is not begun)
        overlap = any((each.f, each.message) == ("topic", event.message) for each in others)
        self.topics[event.message] = None if overlap else settings
        if before in (settings, None):
            return
        if self.registered_at >= asked.t:
            self.judge_part(CHANGES)
        elif self.registered_at >= 0:
            bound = REGISTER_NS + self.known.healthy_ns
            self.unregistered.begin(event, event.t, bound, MASTER, NAMES, LINK, settled=SETTLED_NS)

    @only("topic", node=MASTER)
    def on_fail(self, event: Fail | Info) -> None:
        self.topics[event.message] = None

    on_info = on_fail

    def on_register(self, event: Register) -> None:
        node = event.node
        if self.next.close(event, node):
            self.judge_part(FAILURES if node in self.failed else PERIODS)
        (self.failed.discard if event.status == "ok" else self.failed.add)(node)
        if node in self.known.registering:
            places = (node, NAMES, f"names-{node}") if self.known.is_a_black_box(node) else ()
            bound = self._period_ms(node) * MS + CALL_NS + REGISTER_NS + self.known.healthy_ns
            self.next.begin(node, event.t, bound, *places, node=node)
        if node == MASTER and event.status == "ok":
            self.registered_at = event.t
            self.unregistered.report_missed(event)
            for _ in self.unregistered:
                self.judge_part(CHANGES)
            self.unregistered.clear()

    @only(TOPICS, node=MASTER)
    def on_table(self, event: Table) -> None:
        self.table = event

    @only(MASTER)
    def on_routed(self, event: Routed) -> None:
        table = self.table
        if table is None or (table.counter, table.stamp) != (event.counter, event.stamp):
            return
        stores = self.known.stores
        if WIPE in stores.of(MASTER, 0) or stores.promotion is not None or WIPE in stores.suffered(OTHER):
            return
        self.judge_part(CONTENT)
        permitted, found = int(self.known.config.get(MASTER, {}).get("brokerPermission", OPEN)), payload(event.detail)
        for name, entry in entries(table).items():
            perm = entry["perm"] if permitted & OPEN == OPEN else entry["perm"] & permitted
            wanted = [entry["readQueueNums"], entry["writeQueueNums"], perm]
            if found.get(name) != wanted:
                text = f"the name server has {name} as {found.get(name)}, by the version of the master's table; there "
                self.violate(event, f"{text}it is {wanted}", since=None)

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.topics = dict.fromkeys(self.topics)

    def _period_ms(self, node: str) -> int:
        return registration_ms(self.known.registering[node])

    def _silent(self, event: Event, node: str, due: Deadline) -> None:
        late = (event.t - due.since) // MS
        text = f"{node} runs and has not tried to register for {late} ms; its period is {self._period_ms(node)} ms"
        self.judge_part(FAILURES if node in self.failed else PERIODS)
        self.violate(event, text, due.since, event.t)

    def _late(self, event: Event, ok: Ok, due: Deadline) -> None:
        self.judge_part(CHANGES)
        late = (event.t - due.since) // MS
        self.violate(ok, f"{ok.message} was changed, and not registered for {late} ms", due.since, event.t)
