"""``route-told``: a master that makes or changes a topic tells the name server at once, not at its next period.

Judged for topics that an administrator makes or changes at the master, by the name server's next answer to a
registration of the master's (``register``): one must come between the administrator's question and a second after its
answer. Only where nothing was wrong with the master, the name server and the link between them since 10 s before.

Left out: masters that never registered, since there may be no name server; changes that change nothing as far as the
history tells, which RocketMQ registers and others need not; topics of which an earlier change is not known to have
happened or not; topics that brokers make by themselves; what the registration says.
Source: AdminBrokerProcessor.updateAndCreateTopic, BrokerController.registerIncrementBrokerData.
"""

from typing import NamedTuple

from pairproof.harness.history import MS, Event
from pairproof.harness.kinds.client import Fail, Info, Ok
from pairproof.harness.kinds.node import Crash, Stop, Wipe
from pairproof.harness.law import only
from pairproof.harness.rocketmq.kinds.metadata import Register
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER, NAMES

TOLD_NS = 1_000 * MS
SETTLED_NS = 10_000 * MS
"""A registration that nobody answers holds the next one up for 6 s."""
LINK = f"names-{MASTER}"
UNKNOWN = "unknown"


class Change(NamedTuple):
    """A topic was changed, and no registration was answered since it was asked for."""

    ok: Ok
    asked_at: int


class RouteTold(Law):
    id = "route-told"
    promise = "A master that makes or changes a topic registers it with the name server at once."
    source = "AdminBrokerProcessor.updateAndCreateTopic: registerIncrementBrokerData"
    needs = frozenset({"invoke", "ok", "register"})
    timed = True

    def begin(self) -> None:
        self.topics: dict[str | None, str | None] = {}
        """What topics were last changed to."""
        self.told = -1
        """When the master was last answered by the name server, ns."""
        self.untold: list[Change] = []

    def on_ok(self, event: Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is None or event.f != "topic" or event.node != MASTER:
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
            self.untold.append(Change(event, asked.t))

    @only("topic", node=MASTER)
    def on_fail(self, event: Fail | Info) -> None:
        self.topics[event.message] = UNKNOWN

    on_info = on_fail

    @only(node=MASTER)
    def on_register(self, event: Register) -> None:
        if event.status == "ok":
            self.told = event.t
            self._look(event)
            self.judged += len(self.untold)
            self.untold.clear()

    @only(node=(MASTER, NAMES))
    def on_crash(self, event: Crash | Stop) -> None:
        self._look(event)
        self.untold.clear()

    on_stop = on_crash

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        """Another store has topics of its own."""
        self.topics = dict.fromkeys(self.topics, UNKNOWN)

    def end(self, last: Event) -> None:
        self._look(last)

    def _look(self, event: Event) -> None:
        """What is overdue is told."""
        trouble = self.known.trouble
        for change in list(self.untold):
            since = change.ok.t
            if event.t - since <= TOLD_NS + self.known.healthy_ns:
                continue
            self.untold.remove(change)
            before = max(0, since - SETTLED_NS)
            still = any(trouble.still_ns(node, before, event.t) for node in (MASTER, NAMES))
            if not still and all(trouble.is_quiet(place, before) for place in (MASTER, NAMES, LINK)):
                self.judged += 1
                late = (event.t - since) // MS
                self.violate(
                    change.ok, f"{change.ok.message} was changed, and not registered for {late} ms", since, event.t
                )
