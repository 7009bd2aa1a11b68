"""``ha-admits-slave``: whoever else crowds the HA port, a slave that finds its way there is heard.

Asked of every slave that is up and has no connection on which the master has heard it, while peers that are no slaves
hold some: if nothing is wrong with master, slave and link, then the master hears it within the five seconds between two
connects of a slave, the heartbeat interval that it waits before its first report, and a second. What comes of that
report is not asked.

Left out: time in which a second crowd is there, which takes every place that a slave leaves (see ``live-newcomers``);
slaves that learn from a name server where their master is, since that takes its time; pairs whose slave an
operator has made the master; slaves whose ``mappedFileSizeCommitLog`` is not the master's, which must not replicate;
pairs whose heartbeats come too rarely to keep a connection.
Source: RocketMQ has no limit on HA connections; the reference has, see docs/decisions/0010.
"""

from collections.abc import Iterable

from ....event_types.machine import Fault
from ....event_types.node import Start
from ....history import MS, Event
from ....judging.law import EventFilter, only
from ...event_types.ha import Close, Connect, Report
from ...known.deadlines import Deadline, Deadlines
from ...law import Law
from ...settings import can_replicate
from ...topology import HA_LINKS, MASTER, ROGUE, SLAVES
from ..liveness.live_newcomers import is_crowd

RECONNECT_MS = 5_000
SLACK_MS = 1_000


def is_crowded(faults: Iterable[Fault]) -> bool:
    """Whether a second crowd is there."""
    return sum(is_crowd(each) for each in faults if each.f == "rogue_slave") > 1


class HaAdmitsSlave(Law):
    id = "ha-admits-slave"
    promise = "However many strangers hold connections to the HA port, the master hears a slave that connects in time."
    source = "HAService.AcceptSocketService, which refuses nobody"
    needs = frozenset({"config", "start", "connect", "close", "report", "fault"})
    awaits = {"connect": EventFilter(nodes=frozenset({ROGUE}))}
    timed = True

    def begin(self) -> None:
        self.strangers: set[str | None] = set()
        """Connections of peers that are no slaves, at the master's end."""
        self.due = Deadlines[str](self, self._unheard)
        """Of slaves that the master does not hear, as long as both are up and strangers are there."""

    def on_start(self, event: Start) -> None:
        if event.node == MASTER:
            self.strangers.clear()
        self._begin(event.t, {*self.known.up, event.node}, self.known.disturbances.active.values())

    @only(node=ROGUE)
    def on_connect(self, event: Connect) -> None:
        if event.side == "m":
            self._look(event)
            self.strangers.add(event.link)
            self._begin(event.t, self.known.up, self.known.disturbances.active.values())

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        self._look(event)
        self.strangers.discard(event.link)
        if not self.strangers:
            self.due.clear()
        self._begin(event.t, self.known.up, self.known.disturbances.active.values(), event.link)

    @only(node=MASTER)
    def on_report(self, event: Report) -> None:
        link = self.known.links.get(event.link)
        if link is not None:
            self._look(event)
            self.judged += self.due.pop(link.peer, None) is not None

    def on_fault(self, event: Fault) -> None:
        """What begins now excuses what follows, not what was."""
        self._look(event)
        if event.status != "on":
            # What it touched had no chance before.
            for due in self.due.values():
                due.since = event.t + 1
        others = [each for number, each in self.known.disturbances.active.items() if number != event.number]
        now = [*others, event] if event.status == "on" else others
        if is_crowded(now):
            self.due.clear()
        else:
            self._begin(event.t + 1, self.known.up, now)

    def end(self, last: Event) -> None:
        self._look(last)

    def _begin(self, t: int, up: set[str], faults: Iterable[Fault], closing: str = "") -> None:
        """The clock starts for each slave that is not heard beside strangers."""
        if self.strangers and MASTER in up and not (self.known.stores.promotions or is_crowded(faults)):
            for slave in sorted(up.intersection(SLAVES) - set(self.due)):
                if not self._is_heard(slave, closing) and self._is_told(slave):
                    bound = (RECONNECT_MS + self.known.setting(slave, "haSendHeartbeatInterval") + SLACK_MS) * MS
                    link = HA_LINKS[SLAVES.index(slave)]
                    self.due.begin(slave, t, bound + self.known.healthy_ns, slave, MASTER, link)

    def _is_heard(self, slave: str, closing: str) -> bool:
        """Whether the last connection on which its present incarnation reported stands, and is not about to close."""
        born = self.known.nodes.ended_at.get(slave, -1)
        heard = (label for label, each in self.known.links.items() if each.peer == slave and each.first is not None)
        last = max(heard, key=lambda label: self.known.links[label].since, default=closing)
        return last != closing and self.known.links[last].open and self.known.links[last].since > born

    def _is_told(self, slave: str) -> bool:
        """Whether its settings alone lead it to the master, and let it replicate."""
        own, master = self.known.config.get(slave, {}), self.known.config.get(MASTER, {})
        return bool(own.get("haMasterAddress")) and can_replicate(master, own)

    def _finds_master(self, slave: str) -> bool:
        """Whether its last connect did not lead it to somebody else in the master's place."""
        link = self.known.slave_link.get(slave)
        return link is None or link in self.known.links

    def _look(self, now: Event) -> None:
        if self.known.stores.promotions:
            # They are others now.
            self.due.clear()
        self.due.report_missed(now)

    def _unheard(self, now: Event, slave: str, due: Deadline) -> None:
        if self._finds_master(slave):
            self.judged += 1
            seconds, others = (now.t - due.since) / 1e9, len(self.strangers)
            what = f"the master has not heard {slave} for {seconds:.1f} s, beside {others} strangers"
            self.violate(now, what, since=due.since)
