"""``log-slave-behind``: a slave's log end never exceeds the master's, or, with a transient store pool, what the master
has committed.

Checks:
- Each append that a slave traces, or else each slave's report that reaches the master; and each audit of both logs
  while both nodes run.
Abstains when:
- The slave diverged, or the bytes were in flight from an earlier incarnation of the master.
Source: HAService.HAClient: a slave writes only what its master sent; MappedFile.getReadPosition.
"""

from ....history import Event
from ....judging.law import DURABILITY, only
from ...event_types.ha import Report
from ...event_types.log import Append, Audit
from ...law import Law
from ...topology import MASTER, ROGUE


class LogSlaveBehind(Law):
    kind = DURABILITY
    needs = frozenset({"append"})

    def begin(self) -> None:
        self.audit: int | None = None
        self.audited: dict[str, int] = {}

    def on_append(self, event: Append) -> None:
        node = event.node
        if node != MASTER:
            end = self.known.logs.ends.get(MASTER)
            if end is not None:
                self._judge(event, node, event.hi, self.known.logs.readable(MASTER, end))

    @only(node=MASTER)
    def on_report(self, event: Report) -> None:
        link = self.known.links.get(event.link)
        peer = ROGUE if link is None else link.peer
        end = self.known.logs.ends.get(MASTER)
        if peer != ROGUE and end is not None and peer not in self.known.logs.traced:
            self._judge(event, peer, event.offset, self.known.logs.readable(MASTER, end))

    def on_audit(self, event: Audit) -> None:
        if event.number != self.audit:
            self.audit, self.audited = event.number, {}
        node, up = event.node, self.known.up
        if node not in up or event.hi is None or (node != MASTER and event.lo == event.hi):
            # An empty log may start anywhere, for example where an earlier master started it.
            return
        self.audited[node] = event.hi
        end = self.audited.get(MASTER)
        if end is None:
            return
        for slave in self.audited if node == MASTER else (node,):
            if slave != MASTER and MASTER in up:
                self._judge(event, slave, self.audited[slave], end)

    def _judge(self, event: Event, slave: str, held: int, end: int) -> None:
        known = self.known
        if slave in known.logs.diverged or (held > end and known.logs.common(slave, held) < held):
            return
        self.judged += 1
        if held > end:
            self.violate(event, f"{slave}'s log reaches {held}, the master's {end}")
