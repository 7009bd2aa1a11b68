"""``ha-admits-slave``: the master receives a slave's report in time, however many rogue peers crowd the HA port.

Checks:
- Each slave that is up without a connection on which it has reported, while rogue peers hold some, and master, slave
  and link are undisturbed: its report arrives within RECONNECT_MS, haSendHeartbeatInterval (the slave's wait before its
  first report) and SLACK_MS.
Abstains when:
- A second crowd takes every connection that a slave leaves (see ``live-newcomers``).
- The slave gets its master's address from a name server.
- An operator has promoted the slave.
- The slave must not replicate (another ``mappedFileSizeCommitLog``), or heartbeats are too rare to keep a connection.
Source: HAService.AcceptSocketService, which refuses nobody; the reference has a limit, see docs/decisions/0010.
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
from ...topology import MASTER, ROGUE, SLAVES, ha_link
from ..liveness.live_newcomers import is_crowd

RECONNECT_MS = 5_000
SLACK_MS = 1_000


def is_crowded(faults: Iterable[Fault]) -> bool:
    """Whether there are two crowds."""
    return sum(is_crowd(each) for each in faults if each.f == "rogue_slave") > 1


class HaAdmitsSlave(Law):
    needs = frozenset({"config", "start", "connect", "close", "report", "fault"})
    awaits = {"connect": EventFilter(nodes=frozenset({ROGUE}))}
    timed = True

    def begin(self) -> None:
        self.rogues: set[str | None] = set()
        self.due = Deadlines[str](self, self._late)
        """By slave without a report, while master and slave are up and rogue peers are connected."""

    def on_start(self, event: Start) -> None:
        if event.node == MASTER:
            self.rogues.clear()
        self._begin(event.t, {*self.known.up, event.node}, self.known.disturbances.active.values())

    @only(node=ROGUE)
    def on_connect(self, event: Connect) -> None:
        if event.side == "m":
            self._expire(event)
            self.rogues.add(event.link)
            self._begin(event.t, self.known.up, self.known.disturbances.active.values())

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        self._expire(event)
        self.rogues.discard(event.link)
        if not self.rogues:
            self.due.clear()
        self._begin(event.t, self.known.up, self.known.disturbances.active.values(), event.link)

    @only(node=MASTER)
    def on_report(self, event: Report) -> None:
        link = self.known.links.get(event.link)
        if link is not None:
            self._expire(event)
            self.judged += self.due.pop(link.peer, None) is not None

    def on_fault(self, event: Fault) -> None:
        self._expire(event)
        if event.status != "on":
            # Its targets had no chance before.
            for due in self.due.values():
                due.since = event.t + 1
        others = [each for number, each in self.known.disturbances.active.items() if number != event.number]
        now = [*others, event] if event.status == "on" else others
        if is_crowded(now):
            self.due.clear()
        else:
            self._begin(event.t + 1, self.known.up, now)

    def end(self, last: Event) -> None:
        self._expire(last)

    def _begin(self, t: int, up: set[str], faults: Iterable[Fault], closing: str = "") -> None:
        if self.rogues and MASTER in up and not (self.known.stores.promotions or is_crowded(faults)):
            for slave in sorted(up.intersection(SLAVES) - set(self.due)):
                if not self._has_reported(slave, closing) and self._is_configured(slave):
                    bound = (RECONNECT_MS + self.known.setting(slave, "haSendHeartbeatInterval") + SLACK_MS) * MS
                    self.due.begin(slave, t, bound + self.known.healthy_ns, slave, MASTER, ha_link(slave))

    def _has_reported(self, slave: str, closing: str) -> bool:
        """Whether the last connection on which the present incarnation reported is open, and is not the closing one."""
        ended = self.known.nodes.ended_at.get(slave, -1)
        reported = (label for label, each in self.known.links.items() if each.peer == slave and each.first is not None)
        last = max(reported, key=lambda label: self.known.links[label].since, default=closing)
        return last != closing and self.known.links[last].open and self.known.links[last].since > ended

    def _is_configured(self, slave: str) -> bool:
        """Whether the settings alone let it find the master and replicate."""
        own, master = self.known.config.get(slave, {}), self.known.config.get(MASTER, {})
        return bool(own.get("haMasterAddress")) and can_replicate(master, own)

    def _finds_master(self, slave: str) -> bool:
        """Whether its last connect did not lead to a rogue master."""
        link = self.known.slave_link.get(slave)
        return link is None or link in self.known.links

    def _expire(self, now: Event) -> None:
        if self.known.stores.promotions:
            self.due.clear()
        self.due.report_missed(now)

    def _late(self, now: Event, slave: str, due: Deadline) -> None:
        if self._finds_master(slave):
            self.judged += 1
            seconds, others = (now.t - due.since) / 1e9, len(self.rogues)
            what = f"the master has no report of {slave} for {seconds:.1f} s, beside {others} rogue peers"
            self.violate(now, what, since=due.since)
