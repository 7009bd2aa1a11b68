"""``role-fan-out``: several slaves are independent of each other: one in trouble holds up neither the rest nor answers.

Judged only while a slave, its HA link or its process is in trouble and another one's connection is untouched since it
stood, on a master that is untouched too:

- to such a healthy slave, if it had been sent all there was, new data leaves within the writer's wait (100 ms), at
  least in part;
- a send that waits for no more slaves than there are such healthy ones is answered within that time, the ways to a
  slave and to the client, and one 10 ms round of the waiting queue. Under SYNC_FLUSH, or where only flushed bytes are
  pushed, the time counts from the flush.

Not applicable with fewer than two slaves. Left out: what a healthy slave gets while nobody is in trouble, see
``ha-wakeup`` and ``ack-prompt``. Source: the design: each HAConnection has threads of its own, and any slave's report
answers a send.
"""

from typing import NamedTuple

from ....event_types.client import Fail, Info, Invoke, Ok
from ....event_types.node import Config
from ....history import MS, Event
from ....judging.law import EVERY, only
from ... import topology
from ...event_types.ha import Close, Frame, Partial
from ...event_types.log import Append, Flush
from ...known.deadlines import Deadline, Deadlines
from ...law import Law
from ...settings import line
from ...topology import MASTER

WRITER_WAIT_NS = 100 * MS
ROUND_NS = 10 * MS


class Send(NamedTuple):
    """A waiting send that healthy slaves alone could answer."""

    hi: int
    since: int | None
    """When it could leave for them, ns; None before its flush, where it has to wait for that."""
    links: tuple[str, ...]
    """Their connections."""


class RoleFanOut(Law):
    id = "role-fan-out"
    promise = "A slow or dead slave holds up neither the other slaves nor the acknowledgements."
    source = "HAConnection.WriteSocketService; HAService.GroupTransferService"
    needs = frozenset({"config", "invoke", "ok", "append", "connect", "report", "frame", "fault"})
    awaits = {"fault": EVERY, "pause": EVERY, "crash": EVERY, "stop": EVERY}
    timed = True

    def begin(self) -> None:
        self.slaves: list[str] = []
        self.owed = Deadlines[str](self, self._held_up)
        """Of healthy connections with something to carry."""
        self.promised: dict[str | None, Send] = {}

    def on_config(self, event: Config) -> None:
        if event.node in topology.SLAVES:
            self.slaves.append(event.node)
        self.applicable = len(self.slaves) > 1

    # What the master has, and what it has sent.

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        flushed_only = self.known.pushes_flushed
        before = self._flushed() if flushed_only else self.known.logs.ends.get(MASTER, 0)
        ready = self._ready(before)
        # A delayed message is put once more when its time has come.
        waiting = [each.call.message for each in self.known.calls.open_at(MASTER) if _waits(each.call)]
        if event.message in waiting and event.message not in self.promised:
            since = None if flushed_only or self.known.sync_flush else event.t
            self._promise(event, since, ready, len(waiting))
        if not flushed_only:
            self._owe(ready, event.t)

    @only(node=MASTER)
    def on_flush(self, event: Flush) -> None:
        before = self._flushed()
        for message, send in self.promised.items():
            if send.since is None and send.hi <= event.upto:
                self.promised[message] = send._replace(since=event.t)
        if self.known.pushes_flushed and event.upto > before:
            self._owe(self._ready(before), event.t)

    def _flushed(self) -> int:
        return self.known.logs.flushed.get(MASTER, 0)

    def _ready(self, end: int) -> list[str]:
        """Connections of healthy slaves that have been sent all up to ``end``, while another slave is in trouble."""
        return [
            label
            for label, link in self.known.links.items()
            if link.following == end and self._is_healthy(label) and self._is_another_struck(link.peer)
        ]

    def _peer(self, label: str) -> str:
        return self.known.links[label].peer

    def _is_healthy(self, label: str) -> bool:
        """Whether nothing has happened to a connection's two ends and its way since it stood."""
        link = self.known.links[label]
        if not link.open or link.peer not in self.slaves:
            return False
        return self.known.disturbances.is_undisturbed(link.since, MASTER, link.peer, _ha_link(link.peer))

    def _is_another_struck(self, slave: str) -> bool:
        return any(self.known.disturbances.is_disturbed(each, _ha_link(each)) for each in self.slaves if each != slave)

    # New data leaves for a healthy slave.

    def _owe(self, ready: list[str], t: int) -> None:
        for link in ready:
            if link in self.owed:
                continue
            slave, settled = self._peer(link), t - self.known.links[link].since
            bound = WRITER_WAIT_NS + self.known.instant_ns
            self.owed.begin(link, t, bound, MASTER, slave, _ha_link(slave), settled=settled)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        if event.lo != event.hi and self.owed.close(event, event.link):
            self.judged += 1

    @only("out", node=MASTER)
    def on_partial(self, event: Partial) -> None:
        if self.owed.close(event, event.link):
            self.judged += 1

    def _held_up(self, event: Event, link: str, due: Deadline) -> None:
        self.judged += 1
        slave, took = self._peer(link), (event.t - due.since) / MS
        what = f"{link}: what lies behind {self.known.links[link].following} waited {took:.0f} ms for {slave}"
        self.violate(event, f"{what}, another slave is in trouble", since=due.since)

    # Sends that healthy slaves alone can answer.

    def _promise(self, put: Append, since: int | None, ready: list[str], waiting: int) -> None:
        needed = self.known.needed
        if not 1 <= needed <= len({self._peer(link) for link in ready}):
            return
        # Up to 4.9.2 a send waits its turn.
        if line(self.known.config[MASTER]).since < (4, 9, 3) and waiting > 1:
            return
        self.promised[put.message] = Send(put.hi or 0, since, tuple(ready))

    def on_ok(self, event: Ok | Fail | Info) -> None:
        send = self.promised.pop(event.message, None) if event.message is not None else None
        if send is None or send.since is None or not all(self._is_healthy(link) for link in send.links):
            return
        if not self.known.disturbances.is_unaffected("client-master", self.known.calls.first_at(event.process)):
            return
        self.judged += 1
        bound = WRITER_WAIT_NS + ROUND_NS + 2 * self.known.healthy_ns
        took = event.t - send.since
        if took > bound:
            self.violate(
                event,
                f"{event.message} waited {took / MS:.0f} ms, while {', '.join(send.links)} could have answered it",
                since=send.since,
            )

    on_info = on_ok
    on_fail = on_ok

    # What ends.

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        self.owed.report_missed(event)
        self.owed.pop(event.link, None)

    def end(self, last: Event) -> None:
        self.owed.report_missed(last)


def _waits(call: Invoke) -> bool:
    return call.f == "send" and bool(call.waits)


def _ha_link(slave: str) -> str:
    return topology.HA_LINKS[topology.SLAVES.index(slave)]
