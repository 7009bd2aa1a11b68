"""``ack-prompt``: a waiting send is answered within one round after enough slaves have reported its end (and its
flush).

A report counts if it is valid, came on its slave's newest connection, which is open, and its slave's log begins at or
before the message.

Checks:
- One report answers every send that it covers. Under SYNC_FLUSH the flush must have ended as well.
- Up to 4.9.2, where sends wait in turn, the time starts when the waiting send that was stored before is answered, if
  that is later.
Abstains when:
- The report is a rogue peer's.
- :mod:`pairproof.harness.rocketmq.laws.acks.answering` excuses the delay.
Source: HAService.GroupTransferService, notifyTransferSome.
"""

from ....event_types.node import Start
from ....judging.law import CONVENTION, only
from ...event_types.ha import Close, Connect, Frame, Report
from ...known.ha_links import VALID
from ...known.in_flight import Send
from ...known.logs import first_at
from ...settings import line
from ...topology import MASTER, ROGUE
from .answering import AnswerTimes, Deadline


class AckPrompt(AnswerTimes):
    kind = CONVENTION
    needs = frozenset({"config", "connect", "frame", "report", "invoke", "ok"})

    def begin(self) -> None:
        self.newest_link: dict[str, str] = {}
        self.begins: dict[str, int] = {}
        """By slave: the begin of the copy that its first report of 0 led to; no key until the first frame."""
        self.empty: dict[str, str] = {}
        """Connections with a first report of 0 and no frame yet, and their slaves."""
        self.acked: dict[str, int] = {}
        """By slave: its newest valid report on its newest connection."""
        self.reached: dict[int, list[tuple[int, int]]] = {}
        """By begin of the slaves' logs: (offset that enough of them had reported, at ns), ascending."""

    def applies(self) -> bool:
        return self.known.needed > 0

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        self.acked.clear()
        self.reached.clear()

    def on_connect(self, event: Connect) -> None:
        if event.side == "m" and event.node and event.node != ROGUE:
            self.newest_link[event.node] = event.link
            self.acked.pop(event.node, None)

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        for slave, label in self.newest_link.items():
            if label == event.link:
                self.acked.pop(slave, None)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        slave = self.empty.pop(event.link, None)
        if slave is not None:
            self.begins[slave] = event.lo

    @only(node=MASTER)
    def on_report(self, event: Report) -> None:
        label, offset = event.link, event.offset
        link = self.known.links.get(label)
        # A report counts only while a send waits.
        if link is None or (link.first is not None and not self.known.in_flight):
            return
        slave = link.peer
        if self.newest_link.get(slave) != label or self.known.validity(event) is not VALID:
            return
        if link.first is None:
            self._begin(slave, label, offset)
        self.acked[slave] = offset
        self._reach(event.t)

    def _begin(self, slave: str, label: str, first: int) -> None:
        if first == 0:
            self.begins.pop(slave, None)
            self.empty[label] = slave
        else:
            self.begins.setdefault(slave, 0)

    def _reach(self, t: int) -> None:
        needed = self.known.needed
        best = sorted(((hi, self.begins[each]) for each, hi in self.acked.items() if each in self.begins), reverse=True)
        if not 0 < needed <= len(best):
            return
        offset, begin = best[needed - 1][0], max(begin for _, begin in best[:needed])
        steps = self.reached.setdefault(begin, [])
        if not steps or steps[-1][0] < offset:
            steps.append((offset, t))

    def deadline(self, call: Send) -> Deadline | None:
        if not call.waits or call.lo is None or call.hi is None:
            return None
        found = (first_at(steps, call.hi) for begin, steps in self.reached.items() if begin <= call.lo)
        covered_ns = min((each for each in found if each is not None), default=None)
        reasons = [covered_ns]
        if self.known.sync_flush:
            reasons.append(self.flushed_ns(call))
        if line(self.known.config[MASTER]).in_turn:
            reasons.append(call.turn_ns())
        known = [each for each in reasons if each is not None]
        return Deadline(max(known), 0) if len(known) == len(reasons) else None

    def promised(self, deadline: Deadline) -> str:
        return "enough slaves had reported its end"
