"""What a history has said of a RocketMQ pair so far: settings, log ends, connections, crashes, rollbacks.

Three questions that several laws ask are answered here and nowhere else:

- :meth:`Known.hears`: may the master believe this report? A first report is *valid* when it is 0 or lies within the
  master's log; a later one on a connection that began so, when it is not above the master's log end.
- :meth:`Known.is_covered`: had a slave appended all of this send, and validly reported its last byte?
- ``rolled``: the slaves that hold bytes which a crash took from the master. Neither side can see that once the master
  has written past the slave's end, so some promises end there; they come back when the slave's log is cut to below the
  point, or wiped. A master that was such a slave is one of them, too: nobody promises that its log can be read.

Left out: what only one law needs. Sources: HAConnection, HAService.push2SlaveMaxOffset, CommitLog recovery.
"""

from pairproof.harness import known
from pairproof.harness.history import Event
from pairproof.harness.kinds.client import Assign, Consumer, Deliver, Fail, Info, Invoke, Ok, Route, Try
from pairproof.harness.kinds.node import UNKNOWN, Config, Crash, Start, Stop, Wipe
from pairproof.harness.rocketmq.kinds.groups import Ask, Back, Lock
from pairproof.harness.rocketmq.kinds.ha import Close, Connect, Frame, Report
from pairproof.harness.rocketmq.kinds.log import Append, Cut, Dispatch, Expire
from pairproof.harness.rocketmq.kinds.metadata import Persist, Register, Sync
from pairproof.harness.rocketmq.kinds.transactions import Decide
from pairproof.harness.rocketmq.known.calls import Calls
from pairproof.harness.rocketmq.known.consumption import Consumption
from pairproof.harness.rocketmq.known.coverage import Coverage
from pairproof.harness.rocketmq.known.derived_under import DerivedUnder
from pairproof.harness.rocketmq.known.ha_link import Link
from pairproof.harness.rocketmq.known.naming import Naming
from pairproof.harness.rocketmq.known.nodes import Nodes
from pairproof.harness.rocketmq.known.stores import Stores
from pairproof.harness.rocketmq.places import MASTER, OTHER, links_of
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
        self.nodes, self.stores = Nodes(), Stores()
        self.calls = Calls(self.nodes, self.stores, self.trouble)
        self.naming = Naming(self.nodes, self.trouble)
        self.consumption = Consumption(self)
        self.derived_under = DerivedUnder()
        self.sync_master = self.sync_flush = False
        self.needed = 0
        """How many slaves must hold a waiting send that is answered with PUT_OK."""
        self._lost_power, self._incarnation = False, 0
        self._know_logs()
        self._know_links()
        self._know_rollbacks()

    def _know_logs(self) -> None:
        self.last_started: str | None = None
        self.starts: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        """Log start and end by the nodes' own trace; no key where it is unknown, no start of a slave without a log."""
        self.dispatched: dict[str, int] = {}
        """Up to where the queues of a node reach in its present incarnation."""
        self.traced: set[str] = set()
        """Slaves whose appends are recorded."""
        self.by_records: set[str] = set()
        """Nodes of whose log whole records are known: a frame may end inside one."""
        self.appended: dict[str, int] = {}
        """The highest end that a slave's log ever had."""
        self._cuts: list[tuple[int, int]] = []
        self._images: set[str] = set()
        """Nodes whose store was replaced by an older state of itself, until they start on it."""
        self._promoted_at, self._is_promoted = 0, False
        """Where the log of a slave began that became the master, the highest of several; whether one is about to."""
        self._copied: dict[str, int] = {}
        """Slaves whose oldest files expired, and where their log began before."""

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
        self._coverage = Coverage()
        self._heard_seq, self._heard = -1, VALID

    def _know_rollbacks(self) -> None:
        self.rolled: dict[str, int] = {}
        """Slaves in class rollback, and the offset up to which their bytes are still the master's."""
        self.rollbacks = 0
        """How often a power loss of the master, and nothing worse, brought a slave into class rollback."""

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
        end = self.ends.get(MASTER, offset)
        least = 0
        if link is None or link.first is None:
            if offset:
                least = self.starts.get(MASTER, 0)
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
        return self._coverage.holders(ok.lo, ok.hi, ok.message)

    def rests_on_strangers(self, ok: Ok) -> bool:
        """Whether enough held this send only if peers count that are no slaves, which no master can tell apart."""
        held = self.holders(ok)
        return held < self.needed <= held + self._coverage.strangers(ok.hi)

    def is_longer(self, node: str) -> bool:
        """Whether a node's log begins before that of a promoted slave, which gives its queue offsets anew."""
        return not self._is_promoted and self.starts.get(node, self._promoted_at) < self._promoted_at

    def own_end(self, node: str) -> int | None:
        """A slave's log end by its own trace; None where that is not known.

        An end of 0 is not known either: the first heartbeat to an empty slave moves it, and leaves no append.
        """
        return (self.ends.get(node) or None) if node in self.traced and node not in self.by_records else None

    def log_end(self, node: str) -> int | None:
        """A node's log end; of a slave as :meth:`own_end`."""
        return self.ends.get(node) if node == MASTER else self.own_end(node)

    def recorded_end(self, node: str) -> int | None:
        """Where its whole records end, by its own trace or its files; None where that is not known, as above."""
        end = self.ends.get(node)
        return end if node == MASTER else (end or None) if node in self.traced else None

    def is_a_black_box(self, node: str) -> bool:
        """Whether what is known of it was seen from outside."""
        return node in self.by_records

    def is_older(self, node: str, since: tuple[int, ...]) -> bool:
        """Whether it is a black box of a version before that one. The reference is what it is, whatever it plays."""
        return self.is_a_black_box(node) and version(self.config.get(node, DEFAULTS)) < since

    def common(self, node: str, hi: int) -> int:
        """How much of what a slave received up to ``hi`` the master still has.

        Less than ``hi`` where the slave still reads from a connection to an earlier life of the master, whose log was
        cut since.
        """
        link = self.links.get(self.slave_link.get(node, ""))
        if link is None or link.incarnation == self._incarnation:
            return hi
        return min((end for incarnation, end in self._cuts if incarnation > link.incarnation and end < hi), default=hi)

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
        if node == MASTER:
            self.needed = promised_slaves(found)
            self.sync_master = found.get("brokerRole") == "SYNC_MASTER"
            self.sync_flush = found.get("flushDiskType") == "SYNC_FLUSH"

    def on_expire(self, event: Expire) -> None:
        """A log's oldest files are gone; what a slave says of its end it says of them, too."""
        node = event.node
        self.stores.expired(event)
        self.consumption.hear(event)
        self._copied.setdefault(node, self.starts.get(node, 0))
        self.starts[node] = event.new_start

    def on_start(self, event: Start) -> None:
        """A node is up; what it lost shows in its log end."""
        node, end = event.node, event.hi
        self.nodes.start(event)
        self.naming.started(node)
        self.stores.started(event, self.ends.get(node, 0))
        self.consumption.hear(event)
        self.derived_under.started(event, self.config)
        image = node in self._images
        self._images.discard(node)
        self._copied.pop(node, None)
        super().on_start(event)
        self.last_started = node
        (self.by_records.add if event.f == UNKNOWN else self.by_records.discard)(node)
        if node == MASTER:
            self._incarnation += 1
            self.ahead = self.refused = -1
            self.pushed = 0
            self._coverage.restarted()
            if end is not None:
                self._recovered(end, image)
        elif end is not None:
            if image:
                self._roll_image(node, end)
            elif end <= self.rolled.get(node, -1):
                del self.rolled[node]
            if end > self.appended.get(node, -1):
                self.appended[node] = end
        # A new process derives all that its log has before it serves.
        self.dispatched[node] = end or 0
        if end is not None:
            self.ends[node] = end
            if end or node == MASTER:
                self.starts[node] = event.lo or 0
                if node == MASTER and self._is_promoted:
                    self._promoted_at, self._is_promoted = max(self._promoted_at, event.lo or 0), False
            else:
                self.starts.pop(node, None)

    def _recovered(self, end: int, image: bool) -> None:
        if image:
            end = self._never_cut(end)
        elif end >= self.ends.get(MASTER, 0):
            return
        self._cuts.append((self._incarnation, end))
        self._coverage.cut(end)
        for node in {*self.traced, *self.claimed}:
            held = self.ends.get(node, 0) if node in self.traced else self.claimed[node]
            if node in self.by_records:
                held = max(held, self.claimed.get(node, 0))
            if held > end:
                self._roll(node, end)

    def _never_cut(self, end: int) -> int:
        """How much of an older state is sure to be no other history's: what lies below every cut of the master's."""
        return min((end, *(cut for _, cut in self._cuts)))

    def _roll_image(self, node: str, end: int) -> None:
        common = self._never_cut(end)
        if common < end:
            self._roll(node, common)

    def _roll(self, node: str, common: int) -> None:
        self.rollbacks += self._lost_power and node not in self.rolled
        self.rolled[node] = min(common, self.rolled.get(node, common))

    def on_crash(self, event: Crash | Stop) -> None:
        node = event.node
        self.nodes.end(event)
        self.stores.ended(event)
        self.consumption.hear(event)
        super().on_crash(event)
        if node == MASTER:
            self._lost_power = event.f == "machine" and event.status != "lied"
            for link in self.links.values():
                self._drop(link, event)

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        """A slave's store is another one; of a master's, its next start tells what it lost.

        How far a slave's log ever reached stays known: its last reports may be under way.
        """
        node = event.node
        self.stores.replaced(event)
        self.consumption.hear(event)
        self.derived_under.wiped(event)
        (self._images.add if event.f == "image" else self._images.discard)(node)
        if node == MASTER:
            self._lost_power = False
            self._is_promoted |= event.detail is not None
            if event.detail in self.rolled:
                self.rolled[MASTER] = self.rolled[event.detail]
            elif event.detail is not None or event.f == "empty":
                self.rolled.pop(MASTER, None)
        else:
            for each in (self.ends, self.starts, self.claimed, self.rolled, self._copied):
                each.pop(node, None)

    def on_cut(self, event: Cut) -> None:
        self.stores.cut(event)

    def on_dispatch(self, event: Dispatch) -> None:
        self.dispatched[event.node] = event.upto

    def on_register(self, event: Register) -> None:
        self.naming.register(event)

    def on_assign(self, event: Assign | Consumer | Persist | Route | Sync) -> None:
        """A consumer, or a broker's table of what it consumed: see there."""
        self.consumption.hear(event)

    on_consumer = on_route = on_sync = on_persist = on_assign

    def on_invoke(self, event: Invoke) -> None:
        self.calls.invoked(event, self.log_end(event.node), self.dispatched.get(event.node, 0))
        self._consume(event)

    def on_ok(self, event: Fail | Info | Ok) -> None:
        self._consume(event)
        self.calls.ended(event)

    on_fail = on_info = on_ok

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
        node, lo, hi = event.node, event.lo, event.hi
        if node == MASTER:
            if event.f == "put":
                self._coverage.put(lo, hi, event.message)
        elif node != OTHER:
            self.traced.add(node)
            self.starts.setdefault(node, lo)
            if hi > self.appended.get(node, -1):
                self.appended[node] = hi
            if self._cuts and (common := self.common(node, hi)) < hi:
                self._roll(node, common)
        self.ends[node] = hi

    def on_connect(self, event: Connect) -> None:
        label, peer = event.link, event.node
        if event.side == "m":
            self.links[label] = Link(peer, self._incarnation)
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
            end = streams.get(label)
            if end == event.lo or end == 0:
                if end == 0:
                    # There its log begins, even with a heartbeat.
                    self.starts.setdefault(event.node, event.lo)
                streams[label] = event.hi

    def on_report(self, event: Report) -> None:
        label, offset = event.link, event.offset
        if event.side == "s":
            self._left_slave(event.node, label, offset)
            return
        link = self.links.get(label)
        if link is None:
            link = self.links[label] = Link(event.node, self._incarnation)
        if self.hears(event) is VALID:
            self._believe(link, label, offset, event)
        elif offset > self.ends.get(MASTER, offset):
            self.ahead = max(self.ahead, offset)
        if not link.valid:
            self.refused = max(self.refused, offset)
        if link.first is None:
            link.first = offset

    def _left_slave(self, node: str, label: str, offset: int) -> None:
        if label not in self.streams:
            self.streams[label] = offset
            if not offset and self.own_end(node) is None:
                # It has no log, so the next frame decides where that begins.
                self.starts.pop(node, None)
        if node != HOSTILE:
            self.claimed[node] = offset
            # Kept per connection: a report may reach the master when the slave lives another life already.
            self._begins[label] = self._copied.get(node, self.starts.get(node, 0))

    def _believe(self, link: Link, label: str, offset: int, event: Event) -> None:
        if not link.valid:
            link.valid = True
            self.available += 1
            if self.available == 1:
                self.available_changed = event.seq, event.t
        if offset > self.pushed:
            self.pushed, self.pushed_at = offset, event.t
        reach = offset
        if link.peer in self.traced and link.peer not in self.rolled:
            reach = min(offset, self.appended.get(link.peer, -1))
        elif link.peer == HOSTILE:
            self._coverage.claimed(label, offset)
            return
        self._coverage.reported(link.peer, self._begins.get(label, self.starts.get(link.peer, 0)), reach)
