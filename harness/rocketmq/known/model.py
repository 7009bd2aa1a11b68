"""The model of a RocketMQ pair: settings, logs, connections, audits, calls and incarnations, from the history so far.

It alone answers two questions of several laws:

- :meth:`Known.validity`: is this report to the master valid? A first report is *valid* if it is 0 or lies within the
  master's log; a later one on a connection with a valid first report, if it is not above the master's log end.
- :meth:`Known.is_covered`: had a slave appended all of this send, and validly reported its last byte?

Left out: state that only one law needs. Sources: HAConnection, HAService.push2SlaveMaxOffset.
"""

from typing import Any

from ...event_types.client import Assign, Consumer, Deliver, Fail, Info, Invoke, Ok, Route, Try
from ...event_types.machine import Fault, Pause
from ...event_types.node import Config, Crash, Start, Stop, Wipe
from ...history import MS, Event
from ..event_types.groups import Ask, Back, Lock
from ..event_types.log import Append, Audit, Commit, Cut, Dispatch, Entries, Expire, Flush, Record
from ..event_types.metadata import Persist, Register, Sync, Table
from ..event_types.transactions import Decide
from ..settings import COMMIT_INTERVAL, COMMIT_THOROUGH, DEFAULTS, Settings, has_pool, parse, promised_slaves, version
from ..topology import MASTER, links_of
from .audits import Audits, Listing
from .calls import Calls
from .consumption import Consumption
from .copies import Copies
from .deadlines import Deadlines
from .derived_under import DerivedUnder
from .dispatched import Dispatched
from .ha_links import Links
from .in_flight import InFlight
from .logs import Logs
from .lost_undetected import LostUndetected
from .naming import Naming
from .nodes import Nodes
from .positions import Positions
from .sent import Sent
from .stores import Stores
from .tables import READ, WRITE, Tables


class Known(Links):
    """Bounded by the number of nodes, connections, starts and unacknowledged puts of one trial."""

    def __init__(self, observes: frozenset[str] | None = None) -> None:
        super().__init__(observes)
        self.config: dict[str, Settings] = {}
        self.slaves: dict[str, Settings] = {}
        self.registering: dict[str, Settings] = {}
        """Brokers that know a name server; their slaves sync their tables."""
        self.nodes, self.stores, self.audits = Nodes(self.up), Stores(), Audits()
        self.logs, self.dispatched, self.lost_undetected = Logs(self), Dispatched(self), LostUndetected()
        self._blind = "append" not in self.observes
        self.calls, self.in_flight = Calls(self), InFlight(self)
        self.sent, self.positions = Sent(self.calls), Positions()
        self.naming = Naming(self.nodes, self.disturbances)
        self.consumption = Consumption(self)
        self.derived_under = DerivedUnder()
        self.tables, self.copies = Tables(self), Copies(self)
        self.sync_master = self.sync_flush = False
        self.needed = 0
        """How many slaves must hold a waiting send that is answered with PUT_OK."""
        self.pushes_flushed = False
        """Whether the master pushes only flushed bytes (``haPushes``)."""
        self.last_started: str | None = None
        self.deadlines: list[Deadlines[Any]] = []
        self._init_links()

    def links_of(self, node: str) -> frozenset[str]:
        return links_of(node)

    def setting(self, node: str, key: str) -> int:
        """A numeric setting of a node; RocketMQ's default if the history has none."""
        return int(self.config.get(node, DEFAULTS)[key])

    def is_allowed(self, permissions: int = READ | WRITE) -> bool:
        """Whether every broker's brokerPermission, by default both, lets clients read or write, or both."""
        found = (int(each.get("brokerPermission", permissions)) for each in self.config.values())
        return all(each & permissions == permissions for each in found)

    def committed(self, node: str) -> int:
        """How much of a node's log is surely not in its transient store pool."""
        logs = self.logs
        if node not in self.stores.pooled:
            return logs.ends.get(node, 0)
        return logs.committed.get(node, max(logs.flushed.get(node, 0), self.dispatched.shown(node) or 0))

    def pool_ns(self, node: str) -> int:
        """How long a node's new bytes may stay in its transient store pool, which hides them."""
        if node not in self.stores.pooled:
            return 0
        # A wake-up commits one file, and the next one may need the whole time again.
        return 2 * MS * (self.setting(node, COMMIT_INTERVAL) + self.setting(node, COMMIT_THOROUGH))

    def is_covered(self, ok: Ok) -> bool:
        """Whether a slave had appended this send and validly reported its last byte."""
        return self.holders(ok) > 0

    def holders(self, ok: Ok) -> int:
        return self.coverage.holders(ok.lo, ok.hi, ok.message)

    def rests_on_rogues(self, ok: Ok) -> bool:
        """Whether enough peers held this send only if rogue peers count, which no master can distinguish."""
        held = self.holders(ok)
        return held < self.needed <= held + self.coverage.rogue_holders(ok.hi, self.calls.is_current(ok))

    def keeps_index(self, node: str) -> bool:
        return self.derived_under.indexed(node) is True

    def wall_ms(self, event: Event) -> int:
        """The clock of an event's node, in ms since the beginning of the history."""
        ahead = [each.ahead_ms for each in self.clocks.get(event.node or "", ()) if each.seq < event.seq]
        return event.t // MS + (ahead[-1] if ahead else 0)

    def listing(self, node: str) -> Listing | None:
        """The last audit of a node; None if it is not done, or the node's log may have changed since."""
        found, changed = self.audits.last.get(node), self.logs.changed.get(node)
        if found is None or found.read is None or (changed is not None and changed.seq > found.since):
            return None
        return found

    def is_a_black_box(self, node: str) -> bool:
        return node in self.logs.by_records

    def is_older(self, node: str, since: tuple[int, ...]) -> bool:
        """Whether it is a black box of an earlier version than that. The reference is of no version, in every
        deployment.
        """
        return self.is_a_black_box(node) and version(self.config.get(node, DEFAULTS)) < since

    def disturbed_at(self, but_for: tuple[str, ...] = ()) -> int:
        """When a fault, a node or a pause last ended, ns; -1: never.

        ``but_for``: prefixes of targets whose faults do not matter.
        """
        faults = [t for target, t in self.disturbances.ended.items() if not target.startswith(but_for)]
        return max((-1, *faults, *self.nodes.ended_at.values(), *self.disturbances.woke.values()))

    def on_config(self, event: Config) -> None:
        node = event.node
        self.config[node] = found = parse(event.detail or "{}")
        role = found.get("brokerRole")
        if role == "SLAVE":
            self.slaves[node] = found
        if role is not None and found.get("namesrvAddr"):
            self.registering[node] = found
        self.copies.configured(node, found)
        self.naming.configured(node, found)
        self.stores.configured(node, has_pool(found))
        if node == MASTER:
            self.needed = promised_slaves(found)
            self.sync_master = role == "SYNC_MASTER"
            self.sync_flush = found.get("flushDiskType") == "SYNC_FLUSH"
            self.pushes_flushed = found.get("haPushes") == "flushed"

    def on_expire(self, event: Expire) -> None:
        self.stores.expires(event)
        self.logs.expired(event)

    def on_start(self, event: Start) -> None:
        node = event.node
        lost_power = self.nodes.lost_power(node)
        self.nodes.start(event)
        self.naming.started(node)
        self.copies.started(node)
        is_image = self.stores.replaced.get(node) == "image"
        self.stores.started(event, self.logs.ends.get(node, 0))
        self.consumption.started(event)
        self.derived_under.started(event, self.config)
        self.lost_undetected.started(event)
        self.dispatched.started(event)
        self.positions.started(event, self.logs.ends.get(node, 0))
        super().on_start(event)
        self.last_started = node
        if node == MASTER:
            self.ahead = self.refused = -1
            self.pushed = 0
        self.logs.started(event, is_image, lost_power)

    def _disturb(self, event: Event) -> None:
        """Before a disturbance of nodes and links, check for missed deadlines."""
        for each in self.deadlines:
            each.disturbed(event)

    def on_fault(self, event: Fault) -> None:
        self._disturb(event)
        super().on_fault(event)

    def on_pause(self, event: Pause) -> None:
        self._disturb(event)
        super().on_pause(event)

    def on_crash(self, event: Crash | Stop) -> None:
        self._disturb(event)
        node = event.node
        self.logs.ended(event, node in self.up)
        if node == MASTER and node in self.up:
            self.coverage.master_ended()
        self.naming.ended(event)
        self.nodes.end(event)
        self.tables.ended(event)
        self.copies.ended(node)
        self.stores.ended(event, self.committed(node))
        self.consumption.ended(event)
        self.lost_undetected.crashed(event)
        self.dispatched.ended(event)
        self.reported.pop(node, None)
        super().on_crash(event)
        if node == MASTER:
            for link in self.links.values():
                self._drop(link, event)

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        self.stores.wiped(event)
        self.tables.wiped(event)
        self.consumption.wiped(event)
        self.derived_under.wiped(event)
        self.lost_undetected.wiped(event)
        self.positions.wiped()
        self.logs.wiped(event)
        self.received.pop(event.node, None)
        if event.node != MASTER:
            self.claimed.pop(event.node, None)

    def on_register(self, event: Register) -> None:
        self.naming.register(event)

    def on_assign(self, event: Assign) -> None:
        self.consumption.assigned(event)

    def on_route(self, event: Route) -> None:
        self.consumption.routed(event)

    def on_consumer(self, event: Consumer) -> None:
        self.consumption.comes_or_goes(event)
        self.tables.comes(event)

    def on_sync(self, event: Sync) -> None:
        self.consumption.synced(event)
        self.copies.synced(event)
        self.tables.synced(event)

    def on_persist(self, event: Persist) -> None:
        self.consumption.persisted(event)
        self.tables.persisted(event)

    def on_table(self, event: Table) -> None:
        self.copies.read(event)

    def on_invoke(self, event: Invoke) -> None:
        self.calls.invoked(event)
        self.tables.begins(event)
        self.in_flight.invoked(event)
        self.sent.invoked(event)
        # Calls of producers and plain readers do not concern a group.
        if event.group is not None:
            self.consumption.begins(event)

    def on_fail(self, event: Fail | Info | Ok) -> None:
        if event.group is not None:
            self.consumption.ends(event)
        self.in_flight.ended(event)
        self.tables.ends(event)
        self.calls.ended(event)

    on_info = on_fail

    def on_ok(self, event: Ok) -> None:
        self.copies.answered(event)
        self.on_fail(event)
        self.sent.answer(event)
        if self._blind and event.f == "send":
            self.dispatched.grown[event.node] = event.t

    def on_deliver(self, event: Deliver) -> None:
        self.calls.delivered(event)
        if self.calls.is_current(event):
            self.positions.seen(event)
        if event.group is not None:
            self.consumption.delivered(event)

    def on_try(self, event: Try) -> None:
        self.calls.tried(event)

    def on_ask(self, event: Ask | Lock) -> None:
        self.calls.questioned(event)

    on_lock = on_ask

    def on_back(self, event: Back) -> None:
        self.sent.sent_back(event)
        self.calls.questioned(event)

    def on_decide(self, event: Decide) -> None:
        self.sent.decided(event)
        self.calls.questioned(event)

    def on_append(self, event: Append) -> None:
        if event.node == MASTER:
            self.in_flight.appended(event)
            if event.f == "put":
                self.coverage.put(event.lo, event.hi, event.message)
        self.logs.append(event)
        self.sent.put(event)
        self.dispatched.grown[event.node] = event.t

    def on_commit(self, event: Commit) -> None:
        self.logs.commit(event)

    def on_flush(self, event: Flush) -> None:
        self.logs.flush(event)

    def on_cut(self, event: Cut) -> None:
        self.stores.cut(event)
        self.logs.cut(event)

    def on_dispatch(self, event: Dispatch) -> None:
        self.dispatched.dispatch(event)

    def on_record(self, event: Record) -> None:
        self.audits.record(event)
        self.positions.seen(event)

    def on_entries(self, event: Entries) -> None:
        self.audits.entry(event)

    def on_audit(self, event: Audit) -> None:
        self.audits.audit(event)
