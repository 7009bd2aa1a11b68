"""``role-fan-out``: a slow or dead slave holds up neither the other slaves nor the acknowledgements.

A slave is healthy here if its connection, like the master, has been undisturbed since it was opened, while another
slave, its HA link or its process is disturbed.

Checks:
- New data leaves for a healthy slave that had been sent the whole log, at least in part, within the writer's wait (100
  ms).
- A send that needs no more slaves than are healthy is answered within this wait, the latencies to slave and client, and
  one 10 ms round of the waiting queue; with SYNC_FLUSH, or where only flushed bytes are pushed, counted from the flush.
Abstains when:
- There are fewer than two slaves (not applicable), or none is disturbed (see ``ha-wakeup`` and ``ack-prompt``).
Source: the design: each HAConnection has its own threads (WriteSocketService), and any slave's report can complete a
send (HAService.GroupTransferService).
"""

from typing import NamedTuple

from ....event_types.client import Fail, Info, Invoke, Ok
from ....event_types.node import Config
from ....history import MS, Event
from ....judging.law import EVERY, only
from ...event_types.ha import Close, Frame, Partial
from ...event_types.log import Append, Flush
from ...known.deadlines import Deadline, Deadlines
from ...law import Law
from ...settings import line
from ...topology import MASTER, SLAVES, ha_link

WRITER_WAIT_NS = 100 * MS
ROUND_NS = 10 * MS


class Send(NamedTuple):
    """A send that healthy slaves alone could complete, over ``links``."""

    hi: int
    since: int | None
    """When it could be pushed, ns; None before a flush that it waits for."""
    links: tuple[str, ...]


class RoleFanOut(Law):
    needs = frozenset({"config", "invoke", "ok", "append", "connect", "report", "frame", "fault"})
    awaits = {"fault": EVERY, "pause": EVERY, "crash": EVERY, "stop": EVERY}
    timed = True

    def begin(self) -> None:
        self.slaves: list[str] = []
        self.pushes = Deadlines[str](self, self._late)
        self.waiting: dict[str | None, Send] = {}

    def on_config(self, event: Config) -> None:
        if event.node in SLAVES:
            self.slaves.append(event.node)
        self.applicable = len(self.slaves) > 1

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        flushed_only = self.known.pushes_flushed
        before = self._flushed() if flushed_only else self.known.logs.ends.get(MASTER, 0)
        ready = self._ready(before)
        # A delayed message is appended again when due, perhaps by a later incarnation than its send's.
        calls = [each.call for each in self.known.calls.open_at(MASTER)]
        waiting = [each.message for each in calls if _waits(each) and self.known.calls.is_current(each)]
        if event.message in waiting and event.message not in self.waiting:
            since = None if flushed_only or self.known.sync_flush else event.t
            self._expect_answer(event, since, ready, len(waiting))
        if not flushed_only:
            self._expect_push(ready, event.t)

    @only(node=MASTER)
    def on_flush(self, event: Flush) -> None:
        before = self._flushed()
        for message, send in self.waiting.items():
            if send.since is None and send.hi <= event.upto:
                self.waiting[message] = send._replace(since=event.t)
        if self.known.pushes_flushed and event.upto > before:
            self._expect_push(self._ready(before), event.t)

    def _flushed(self) -> int:
        return self.known.logs.flushed.get(MASTER, 0)

    def _ready(self, end: int) -> list[str]:
        """Connections of healthy slaves that were sent the log up to ``end``, while another slave is disturbed."""
        return [
            label
            for label, link in self.known.links.items()
            if link.following == end and self._is_healthy(label) and self._is_another_struck(link.peer)
        ]

    def _peer(self, label: str) -> str:
        return self.known.links[label].peer

    def _is_healthy(self, label: str) -> bool:
        link = self.known.links[label]
        if not link.open or link.peer not in self.slaves:
            return False
        return self.known.disturbances.is_undisturbed(link.since, MASTER, link.peer, ha_link(link.peer))

    def _is_another_struck(self, slave: str) -> bool:
        return any(self.known.disturbances.is_disturbed(each, ha_link(each)) for each in self.slaves if each != slave)

    def _expect_push(self, ready: list[str], t: int) -> None:
        for link in ready:
            if link in self.pushes:
                continue
            slave, settled = self._peer(link), t - self.known.links[link].since
            bound = WRITER_WAIT_NS + self.known.pool_ns(MASTER) + self.known.instant_ns
            self.pushes.begin(link, t, bound, MASTER, slave, ha_link(slave), settled=settled)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        if event.lo != event.hi and self.pushes.close(event, event.link):
            self.judged += 1

    @only("out", node=MASTER)
    def on_partial(self, event: Partial) -> None:
        if self.pushes.close(event, event.link):
            self.judged += 1

    def _late(self, event: Event, link: str, due: Deadline) -> None:
        self.judged += 1
        slave, took = self._peer(link), (event.t - due.since) / MS
        what = f"{link}: data from {self.known.links[link].following} on waited {took:.0f} ms to leave for {slave}"
        self.violate(event, f"{what}; another slave is disturbed", since=due.since)

    def _expect_answer(self, put: Append, since: int | None, ready: list[str], waiting: int) -> None:
        needed = self.known.needed
        if not 1 <= needed <= len({self._peer(link) for link in ready}):
            return
        # Up to 4.9.2, sends wait in turn.
        if line(self.known.config[MASTER]).since < (4, 9, 3) and waiting > 1:
            return
        self.waiting[put.message] = Send(put.hi or 0, since, tuple(ready))

    def on_ok(self, event: Ok | Fail | Info) -> None:
        send = self.waiting.pop(event.message, None) if event.message is not None else None
        if send is None or send.since is None or not all(self._is_healthy(link) for link in send.links):
            return
        if not self.known.disturbances.is_unaffected("client-master", self.known.calls.first_at(event.process)):
            return
        self.judged += 1
        bound = WRITER_WAIT_NS + self.known.pool_ns(MASTER) + ROUND_NS + 2 * self.known.healthy_ns
        took = event.t - send.since
        if took > bound:
            what = f"{event.message} waited {took / MS:.0f} ms, while {', '.join(send.links)} could have completed it"
            self.violate(event, what, since=send.since)

    on_info = on_ok
    on_fail = on_ok

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        self.pushes.report_missed(event)
        self.pushes.pop(event.link, None)


def _waits(call: Invoke) -> bool:
    return call.f == "send" and bool(call.waits)
