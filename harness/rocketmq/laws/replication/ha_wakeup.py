"""``ha-wakeup``: the master pushes new data (or newly flushed data, if it pushes only that) to an idle, caught-up slave
within 100 ms (10 ms for sends that wait for replication).

New data is appended or, where only flushed bytes are pushed, flushed. In a transient store pool it waits to be
committed first. The writer waits 100 ms; a send that waits for slaves wakes it, so its bytes leave within a round of 10
ms.

Checks:
- Each append, or flush, that continues the last frame or the first report of an idle connection.
Abstains when:
- The slave lags, or the link's socket is full.
- For the 10 ms: only flushed bytes are pushed, or the send has no slave to wait for.
Source: HAConnection.WriteSocketService, which waits 100 ms on WaitNotifyObject; CommitLog.submitReplicaRequest, which
wakes it.
"""

from collections.abc import Iterator

from ....event_types.client import Invoke
from ....history import MS, Event
from ....judging.law import CONVENTION, only
from ...event_types.ha import Close, Frame, Partial
from ...event_types.log import Append, Flush
from ...known.deadlines import Deadline, Deadlines
from ...law import Law
from ...topology import MASTER
from ..acks.answering import ROUND_NS

WAIT_NS = 100 * MS


class HaWakeup(Law):
    kind = CONVENTION
    needs = frozenset({"config", "append", "report", "frame", "partial", "close"})
    timed = True

    def begin(self) -> None:
        self.blocked: set[str] = set()
        self.new = Deadlines[str](self, self._late)
        self.waiting: set[str | None] = set()

    @only("send", node=MASTER)
    def on_invoke(self, event: Invoke) -> None:
        if event.waits and self.known.needed:
            self.waiting.add(event.message)

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        # A delayed message is appended again when due, and does not wait then.
        wait_ns = ROUND_NS if event.message in self.waiting and self._has_slave(event) else WAIT_NS
        self.waiting.discard(event.message)
        if not self.known.pushes_flushed:
            for label, end in self._ends():
                if end == event.lo:
                    self._expect_frame(label, event, wait_ns)

    def _ends(self) -> Iterator[tuple[str, int]]:
        links = ((label, link) for label, link in self.known.links.items() if link.open and link.valid)
        return ((label, link.following) for label, link in links if link.following is not None)

    def _has_slave(self, append: Append) -> bool:
        """Whether the send waits, and is not answered SLAVE_NOT_AVAILABLE."""
        behind = (append.hi or 0) - self.known.pushed
        return self.known.available > 0 and behind < self.known.setting(MASTER, "haSlaveFallbehindMax")

    @only(node=MASTER)
    def on_flush(self, event: Flush) -> None:
        if not self.known.pushes_flushed:
            return
        before = self.known.logs.flushed.get(MASTER, 0)
        for label, end in self._ends():
            if before <= end < event.upto:
                self._expect_frame(label, event, WAIT_NS)

    def _expect_frame(self, link: str, event: Event, wait_ns: int) -> None:
        if link not in self.new and link not in self.blocked:
            self.judged += 1
            self.new.begin(link, event.t, wait_ns + self.known.pool_ns(MASTER) + self.known.healthy_ns, node=MASTER)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        if event.lo != event.hi:
            self.new.close(event, event.link)
        self.blocked.discard(event.link)

    @only("out", node=MASTER)
    def on_partial(self, event: Partial) -> None:
        self.new.close(event, event.link)
        self.blocked.add(event.link)

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        self.new.close(event, event.link)

    def _late(self, event: Event, link: str, due: Deadline) -> None:
        at, late = self.known.links[link].following, (event.t - due.since) // MS
        self.violate(event, f"{link}: new data at {at} was not pushed for {late} ms", since=due.since)
