"""``route-last-master``: of two masters of one broker name a name server names the one that registered last, to clients
and to slaves.

Checks:
- Each read of the name server's table, and each route that it answers to a client: the address under id 0 is that of
  the last registration with this name and id. It is missing only if that master's connection may have ended, or if any
  master of the name has stopped since, which empties the place.
- The master that it answers to a registering slave is this one, too; a slave may be answered none.
- A killed master takes no other one's entry with it.
Abstains when:
- The order of the last two registrations is open: ``WINDOW_NS`` before each answer, after a registration without an
  answer, and after a disturbance of the name server or of the rival's link to it until the next registration.
- A master ended or was paused when it may have been about to register.
Source: RouteInfoManager.registerBroker (brokerAddrs.put), unregisterBroker, onChannelDestroy.
"""

from __future__ import annotations

from typing import NamedTuple

from ....event_types.machine import Pause
from ....event_types.node import Crash, Stop
from ....history import MS, Event
from ....judging.law import only
from ....texts.content import payload
from ...event_types.groups import Ask
from ...event_types.metadata import Register, Table
from ...known.metadata import registration_answer
from ...known.naming import ARRIVED_NS, FOREVER
from ...law import Law
from ...settings import registration_ms
from ...topology import MASTER_ID, NAMES

WINDOW_NS = 7_000 * MS
"""registerBrokerTimeoutMills, and a second: a registration that ended now was sent within this time."""
FIRST_NS = 10_000 * MS
"""From a broker's start to its second registration."""
EARLY_NS = 2_000 * MS


class Holder(NamedTuple):
    """The master of a name that registered last: not before ``sent``, answered at ``t``; ns."""

    node: str
    sent: int
    t: int


class Reading(NamedTuple):
    """What an event shows, which counts unless another master's registration turns out to have been in flight."""

    event: Event
    name: str
    seen: str | None
    holder: str
    since: int
    is_sure: bool
    """Whether the holder cannot be missing."""


class RouteLastMaster(Law):
    needs = frozenset({"config", "start", "crash", "register", "table", "ask"})
    ignored_nodes = frozenset()
    timed = True

    def begin(self) -> None:
        self.last: dict[str, Register] = {}
        """By broker: the end of its last registration, answered or not."""
        self.holder: dict[str, Holder] = {}
        """By broker name: the last answered registration of a master."""
        self.quiet: set[str] = set()
        """Killed masters that had no registration in flight."""
        self.paused: dict[str, int] = {}
        """By broker: the beginning of its last pause, ns."""
        self.open: list[Reading] = []

    def applies(self) -> bool:
        return any(map(self.known.naming.rivals, self.known.naming.places))

    def on_register(self, event: Register) -> None:
        naming, node = self.known.naming, event.node
        self._settle(event.t)
        name, _ = naming.places.get(node, ("", 0))
        if naming.rivals(node):
            self._drop(name, node)
            self.last[node] = event
            self.quiet.discard(node)
            if event.status == "ok":
                healthy = self.known.disturbances.is_undisturbed(event.t - WINDOW_NS, NAMES, f"names-{node}", node)
                sent = event.t - (self.known.healthy_ns if healthy else WINDOW_NS)
                self.holder[name] = Holder(node, sent, event.t)
        elif event.status == "ok" and (told := registration_answer(event).get("master")) is not None:
            self._read(event, name, told, event.t - WINDOW_NS)

    @only("brokers", node=NAMES)
    def on_table(self, event: Table) -> None:
        listed = payload(event.detail)
        for name in self.holder:
            self._read(event, name, listed.get(name, {}).get(MASTER_ID), event.t)

    @only("route")
    def on_ask(self, event: Ask) -> None:
        begun = self.known.calls.asked(event)
        if event.status == "answered" and begun is not None:
            for name, nodes in payload(event.detail).items():
                self._read(event, name, nodes.get(MASTER_ID), begun.call.t)

    def on_crash(self, event: Crash | Stop) -> None:
        self._goes(event)
        self.quiet.discard(event.node)
        if event.kind == "crash" and event.f == "process" and self._is_between(event):
            self.quiet.add(event.node)

    on_stop = on_crash

    def on_pause(self, event: Pause) -> None:
        self._goes(event)
        self.paused[event.node] = event.t

    def _goes(self, event: Event) -> None:
        self._settle(event.t)
        node = event.node or ""
        self._drop(self.known.naming.places.get(node, ("", 0))[0], node)

    def _is_between(self, event: Event) -> bool:
        """Whether a master that ends now had no registration in flight: its last one ended, the next one is not due,
        and no client's call may have changed its topics.
        """
        node, known = event.node or "", self.known
        last, started = self.last.get(node), known.nodes.last_start(node)
        if last is None or last.t < started or node in known.nodes.down or any(known.calls.open_at(node)):
            return False
        was_paused = self.paused.get(node, -1) >= started
        if was_paused or not known.disturbances.is_undisturbed(started, NAMES, f"names-{node}"):
            return False
        period = FIRST_NS if last.t < started + FIRST_NS - EARLY_NS else registration_ms(known.registering[node]) * MS
        return event.t < last.t + period - EARLY_NS

    def _read(self, event: Event, name: str, seen: str | None, since: int) -> None:
        self._settle(event.t)
        held, known = self.holder.get(name), self.known
        if held is None or since < held.t or known.disturbances.is_disturbed(NAMES):
            return
        holder = held.node
        if max(known.nodes.last_start(NAMES), *map(self._acted_at, known.naming.rivals(holder))) >= held.sent:
            return
        undisturbed = known.disturbances.is_undisturbed(held.t, NAMES, f"names-{holder}", holder)
        self.open.append(Reading(event, name, seen, holder, held.t, undisturbed and event.kind != "register"))

    def _acted_at(self, node: str) -> int:
        """When this broker's last registration, or the end of its connection, may have changed its place; ns."""
        known, last, link = self.known, self.last.get(node), f"names-{node}"
        if node not in known.nodes.started_at:
            return 0
        if known.disturbances.is_disturbed(link):
            return FOREVER
        ended = known.nodes.ended_at[node] if node in known.nodes.down and node not in self.quiet else 0
        in_flight = max(known.disturbances.ended.get(link, 0), self.paused.get(node, 0), ended) + ARRIVED_NS
        return max(in_flight, known.disturbances.woke.get(NAMES, 0), 0 if last is None else last.t)

    def _drop(self, name: str, node: str) -> None:
        """Forget the readings of this name that a registration of this broker in flight may explain."""
        self.open = [each for each in self.open if each.name != name or each.holder == node]

    def _settle(self, now: int) -> None:
        """Judge readings after which no registration was in flight."""
        while self.open and now - self.open[0].event.t > WINDOW_NS:
            each = self.open.pop(0)
            self.judged += 1
            if each.seen == each.holder or (each.seen is None and not each.is_sure):
                continue
            named = "no master" if each.seen is None else f"{each.seen} as master"
            self.violate(each.event, f"{each.name} has {named}; {each.holder} registered last", since=each.since)

    def end(self, last: Event) -> None:
        self._settle(last.t)
        super().end(last)
