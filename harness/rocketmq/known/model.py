"""What a history has said of a RocketMQ pair so far: settings, logs, connections, audits, calls and incarnations.

Two questions that several laws ask are answered here and nowhere else:

- :meth:`Known.hears`: may the master believe this report? A first report is *valid* when it is 0 or lies within the
  master's log; a later one on a connection that began so, when it is not above the master's log end.
- :meth:`Known.is_covered`: had a slave appended all of this send, and validly reported its last byte?

Left out: what only one law needs. Sources: HAConnection, HAService.push2SlaveMaxOffset.
"""

from pairproof.harness import known
from pairproof.harness.history import Event
from pairproof.harness.kinds.client import Assign, Consumer, Deliver, Fail, Info, Invoke, Ok, Route, Try
from pairproof.harness.kinds.node import Config, Crash, Start, Stop, Wipe
from pairproof.harness.rocketmq.kinds.groups import Ask, Back, Lock
from pairproof.harness.rocketmq.kinds.ha import Close, Connect, Frame, Report
from pairproof.harness.rocketmq.kinds.log import Append, Audit, Cut, Dispatch, Entries, Expire, Flush, Record
from pairproof.harness.rocketmq.kinds.metadata import Persist, Register, Sync, Table
from pairproof.harness.rocketmq.kinds.transactions import Decide
from pairproof.harness.rocketmq.known.audits import Audits, Listing
from pairproof.harness.rocketmq.known.calls import Calls
from pairproof.harness.rocketmq.known.consumption import Consumption
from pairproof.harness.rocketmq.known.copies import Copies
from pairproof.harness.rocketmq.known.coverage import Coverage
from pairproof.harness.rocketmq.known.derived_under import DerivedUnder
from pairproof.harness.rocketmq.known.dispatched import Dispatched
from pairproof.harness.rocketmq.known.ha_link import Link
from pairproof.harness.rocketmq.known.logs import Logs
from pairproof.harness.rocketmq.known.naming import Naming
from pairproof.harness.rocketmq.known.nodes import Nodes
from pairproof.harness.rocketmq.known.spoiled import Spoiled
from pairproof.harness.rocketmq.known.stores import Stores
from pairproof.harness.rocketmq.known.tables import Tables
from pairproof.harness.rocketmq.places import MASTER, links_of
from pairproof.harness.rocketmq.settings import DEFAULTS, Settings, parse, promised_slaves, version

HOSTILE = "hostile"

VALID = "valid"
AHEAD = "ahead"
"""Above the master's log end when it arrived."""
BELOW = "below"
"""Before the master's log start, or negative."""
REFUSED = "refused"
"""Made on a connection whose first report was not valid."""


class Known(known.Known):
    """Bounded by the number of nodes, connections, starts and unacknowledged puts of one trial."""

    def __init__(self, observes: frozenset[str] | None = None) -> None:
        super().__init__(observes)
        self.config: dict[str, Settings] = {}
        self.nodes, self.stores, self.audits = Nodes(), Stores(), Audits()
        self.logs, self.dispatched, self.spoiled = Logs(self), Dispatched(self), Spoiled()
        self._blind = "append" not in self.observes
        self.calls = Calls(self)
        self.naming = Naming(self.nodes, self.trouble)
        self.consumption = Consumption(self)
        self.derived_under = DerivedUnder()
        self.tables, self.copies = Tables(self), Copies(self)
        self.sync_master = self.sync_flush = False
        self.needed = 0
        """How many slaves must hold a waiting send that is answered with PUT_OK."""
        self.pushes_flushed = False
        """Whether the master pushes only what is flushed (``haPushes``)."""
        self.last_started: str | None = None
        self._know_links()

    def _know_links(self) -> None:
        self.links: dict[str, Link] = {}
        self.slave_link: dict[str, str] = {}
        """The connection that a slave opened last."""
        self.streams: dict[str, int] = {}
        """Per connection: where the slave's log ends by what it first reported and then received."""
        self.claimed: dict[str, int] = {}
        self.available = 0
        """Open connections on which a valid report was made."""
        self.available_changed = (-1, 0)
        """``seq`` and time (ns) of the event since which there have been some, or none."""
        self.pushed, self.pushed_at = 0, 0
        """The highest valid report of the master's present life (push2SlaveMaxOffset), and when it arrived, ns."""
        self.ahead = self.refused = -1
        """The highest report above the master's end, and on a refused connection, in its present life."""
        self._begins: dict[str, int] = {}
        """Per connection: where the slave's log began at its last report."""
        self.coverage = Coverage()
        self._heard_seq, self._heard = -1, VALID

    def links_of(self, node: str) -> frozenset[str]:
        return links_of(node)

    # What laws ask.

    def setting(self, node: str, key: str) -> int:
        """A numeric setting of a node, RocketMQ's default where the history does not say."""
        return int(self.config.get(node, DEFAULTS)[key])

    def hears(self, report: Report) -> str:
        """VALID, AHEAD, BELOW or REFUSED: what a report that now reaches the master is to it."""
        if report.seq != self._heard_seq:
            self._heard_seq = report.seq
            self._heard = self._classify(report)
        return self._heard

    def _classify(self, report: Report) -> str:
        link, offset = self.links.get(report.link or ""), report.offset or 0
        end = self.logs.ends.get(MASTER, offset)
        least = 0
        if link is None or link.first is None:
            if offset:
                least = self.logs.starts.get(MASTER, 0)
        elif not link.valid:
            return REFUSED
        if offset > end:
            return AHEAD
        return VALID if offset >= least else BELOW

    def is_covered(self, ok: Ok) -> bool:
        """Whether a slave had appended this send and validly reported its last byte."""
        return self.holders(ok) > 0

    def holders(self, ok: Ok) -> int:
        """How many slaves had."""
        return self.coverage.holders(ok.lo, ok.hi, ok.message)

    def rests_on_strangers(self, ok: Ok) -> bool:
        """Whether enough held this send only if peers count that are no slaves, which no master can tell apart."""
        held = self.holders(ok)
        return held < self.needed <= held + self.coverage.strangers(ok.hi)

    def keeps_index(self, node: str) -> bool:
        """Whether all records of a node's store were indexed."""
        return self.derived_under.indexed(node) is True

    def is_first(self, report: Report) -> bool:
        """Whether the master has had no report on this connection before."""
        link = self.links.get(report.link)
        return link is None or link.first is None

    def listing(self, node: str) -> Listing | None:
        """What the last audit of a node found; None where it is not done, or the node's log may be another one now."""
        found, changed = self.audits.last.get(node), self.logs.changed.get(node)
        if found is None or found.read is None or (changed is not None and changed.seq > found.since):
            return None
        return found

    def is_a_black_box(self, node: str) -> bool:
        """Whether what is known of it was seen from outside."""
        return node in self.logs.by_records

    def is_older(self, node: str, since: tuple[int, ...]) -> bool:
        """Whether it is a black box of a version before that one. The reference is what it is, whatever it plays."""
        return self.is_a_black_box(node) and version(self.config.get(node, DEFAULTS)) < since

    def disturbed_at(self, but_for: tuple[str, ...] = ()) -> int:
        """When a fault last ended, a node ended, or one that stood still went on, ns; -1: never.

        ``but_for``: how the names of places begin whose faults do not matter.
        """
        faults = [t for place, t in self.trouble.ended.items() if not place.startswith(but_for)]
        return max((-1, *faults, *self.nodes.ended_at.values(), *self.trouble.woke.values()))

    # What the judge tells.

    def on_config(self, event: Config) -> None:
        node = event.node
        self.config[node] = found = parse(event.detail or "{}")
        self.copies.configured(node, found)
        if node == MASTER:
            self.needed = promised_slaves(found)
            self.sync_master = found.get("brokerRole") == "SYNC_MASTER"
            self.sync_flush = found.get("flushDiskType") == "SYNC_FLUSH"
            self.pushes_flushed = found.get("haPushes") == "flushed"

    def on_expire(self, event: Expire) -> None:
        self.stores.expired(event)
        self.consumption.hear(event)
        self.logs.expired(event)

    def on_start(self, event: Start) -> None:
        node = event.node
        self.nodes.start(event)
        self.naming.started(node)
        self.copies.started(node)
        is_image = self.stores.replaced.get(node) == "image"
        self.stores.started(event, self.logs.ends.get(node, 0))
        self.consumption.hear(event)
        self.derived_under.started(event, self.config)
        self.spoiled.started(event)
        self.dispatched.started(event)
        super().on_start(event)
        self.last_started = node
        if node == MASTER:
            self.ahead = self.refused = -1
            self.pushed = 0
            self.coverage.restarted()
        self.logs.started(event, is_image)

    def on_crash(self, event: Crash | Stop) -> None:
        node = event.node
        self.logs.ended(event, self.nodes.is_up(node))
        self.nodes.end(event)
        self.tables.ended(event)
        self.copies.ended(node)
        self.stores.ended(event)
        self.consumption.hear(event)
        self.spoiled.crashed(event)
        self.dispatched.ended(event)
        super().on_crash(event)
        if node == MASTER:
            for link in self.links.values():
                self._drop(link, event)

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        self.stores.wiped(event)
        self.tables.wiped(event)
        self.consumption.hear(event)
        self.derived_under.wiped(event)
        self.spoiled.wiped(event)
        self.logs.wiped(event)
        if event.node != MASTER:
            self.claimed.pop(event.node, None)

    def on_register(self, event: Register) -> None:
        self.naming.register(event)

    def on_assign(self, event: Assign | Route) -> None:
        self.consumption.hear(event)

    on_route = on_assign

    def on_consumer(self, event: Consumer) -> None:
        self.consumption.hear(event)
        self.tables.comes(event)

    def on_sync(self, event: Sync) -> None:
        self.consumption.hear(event)
        self.copies.synced(event)
        self.tables.synced(event)

    def on_persist(self, event: Persist) -> None:
        self.consumption.hear(event)
        self.tables.persisted(event)

    def on_table(self, event: Table) -> None:
        self.copies.read(event)

    def on_invoke(self, event: Invoke) -> None:
        self.calls.invoked(event)
        self.tables.begins(event)
        self._consume(event)

    def on_fail(self, event: Fail | Info | Ok) -> None:
        self._consume(event)
        self.tables.ends(event)
        self.calls.ended(event)

    on_info = on_fail

    def on_ok(self, event: Ok) -> None:
        self.copies.answered(event)
        self.on_fail(event)
        if self._blind and event.f == "send":
            self.dispatched.grown[event.node] = event.t

    def on_deliver(self, event: Deliver) -> None:
        self.calls.delivered(event)
        self._consume(event)

    def on_try(self, event: Try) -> None:
        self.calls.tried(event)

    def on_ask(self, event: Ask | Back | Decide | Lock) -> None:
        self.calls.questioned(event)

    on_back = on_decide = on_lock = on_ask

    def _consume(self, event: Deliver | Invoke | Fail | Info | Ok) -> None:
        """What producers and plain readers do is nothing to a group."""
        if event.group is not None:
            self.consumption.hear(event)

    def on_append(self, event: Append) -> None:
        if event.node == MASTER and event.f == "put":
            self.coverage.put(event.lo, event.hi, event.message)
        self.logs.append(event)
        self.dispatched.grown[event.node] = event.t

    def on_flush(self, event: Flush) -> None:
        self.logs.flush(event)

    def on_cut(self, event: Cut) -> None:
        self.stores.cut(event)
        self.logs.changed[event.node] = event

    def on_dispatch(self, event: Dispatch) -> None:
        self.dispatched.dispatch(event)

    def on_record(self, event: Record) -> None:
        self.audits.record(event)

    def on_entries(self, event: Entries) -> None:
        self.audits.entry(event)

    def on_audit(self, event: Audit) -> None:
        self.audits.audit(event)

    def on_connect(self, event: Connect) -> None:
        label, peer = event.link, event.node
        if event.side == "m":
            self.links[label] = Link(peer, self.logs.incarnation)
        elif peer != HOSTILE:
            self.slave_link[peer] = label

    def on_close(self, event: Close) -> None:
        link = self.links.get(event.link)
        if link is not None and event.side == "m":
            self._drop(link, event)

    def _drop(self, link: Link, event: Event) -> None:
        if link.open and link.valid:
            self.available -= 1
            if not self.available:
                self.available_changed = event.seq, event.t
        link.open = False

    def on_frame(self, event: Frame) -> None:
        """A slave received a frame: its log goes on if the frame fits."""
        if event.side == "s":
            streams, label = self.streams, event.link
            if event.lo != event.hi:
                self.logs.changed[event.node] = event
            if self._blind:
                # A slave may have something to dispatch.
                self.dispatched.grown[event.node] = event.t
            end = streams.get(label)
            if end == event.lo or end == 0:
                if end == 0:
                    # There its log begins, even with a heartbeat.
                    self.logs.starts.setdefault(event.node, event.lo)
                streams[label] = event.hi

    def on_report(self, event: Report) -> None:
        label, offset = event.link, event.offset
        if event.side == "s":
            self._left_slave(event.node, label, offset)
            return
        link = self.links.get(label)
        if link is None:
            link = self.links[label] = Link(event.node, self.logs.incarnation)
        if self.hears(event) is VALID:
            self._believe(link, label, offset, event)
        elif offset > self.logs.ends.get(MASTER, offset):
            self.ahead = max(self.ahead, offset)
        if not link.valid:
            self.refused = max(self.refused, offset)
        if link.first is None:
            link.first = offset

    def _left_slave(self, node: str, label: str, offset: int) -> None:
        if label not in self.streams:
            self.streams[label] = offset
            if not offset and self.logs.own_end(node) is None:
                # It has no log, so the next frame decides where that begins.
                self.logs.starts.pop(node, None)
        if node != HOSTILE:
            self.claimed[node] = offset
            # Kept per connection: a report may reach the master when the slave lives another life already.
            self._begins[label] = self.logs.copied_from(node)

    def _believe(self, link: Link, label: str, offset: int, event: Event) -> None:
        if not link.valid:
            link.valid = True
            self.available += 1
            if self.available == 1:
                self.available_changed = event.seq, event.t
        if offset > self.pushed:
            self.pushed, self.pushed_at = offset, event.t
        reach = offset
        logs = self.logs
        if link.peer in logs.traced and link.peer not in logs.diverged:
            reach = min(offset, logs.appended.get(link.peer, -1))
        elif link.peer == HOSTILE:
            self.coverage.claimed(label, offset)
            return
        begin = self._begins.get(label)
        self.coverage.reported(link.peer, logs.starts.get(link.peer, 0) if begin is None else begin, reach)
