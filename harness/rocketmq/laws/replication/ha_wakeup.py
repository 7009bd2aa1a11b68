"""``ha-wakeup``: what is new leaves at once for a slave that has all the rest: within the writer's wait of 100 ms.

A send that waits for slaves wakes the writers, so its bytes leave within one round of 10 ms. New is what the master
appended or, where it pushes only flushed bytes, what it flushed. Judged where the link was idle and the slave caught
up: the last frame, or the first report, ended where the new bytes begin.

Left out: slaves that lag behind, and links that take no more; the 10 ms where only flushed bytes are pushed, and where
the send has no slave to wait for. Source: HAConnection.WriteSocketService, which waits 100 ms on WaitNotifyObject;
CommitLog.submitReplicaRequest, which wakes it.
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
    id = "ha-wakeup"
    kind = CONVENTION
    promise = (
        "The master pushes new data (where only flushed data is pushed: newly flushed data) to an idle, caught-up "
        "slave within 100 ms, that of a send which waits for slaves within 10 ms."
    )
    source = "HAConnection.WriteSocketService, WaitNotifyObject"
    needs = frozenset({"config", "append", "report", "frame", "partial", "close"})
    timed = True

    def begin(self) -> None:
        self.blocked: set[str] = set()
        self.new = Deadlines[str](self, self._late)
        self.waiting: set[str | None] = set()
        """Sends that will wait for slaves and have not been appended yet."""

    @only("send", node=MASTER)
    def on_invoke(self, event: Invoke) -> None:
        if event.waits and self.known.needed:
            self.waiting.add(event.message)

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        # A delayed message is put once more when its time has come, and waits for nobody then.
        wait_ns = ROUND_NS if event.message in self.waiting and self._has_slave(event) else WAIT_NS
        self.waiting.discard(event.message)
        if not self.known.pushes_flushed:
            for label, end in self._ends():
                if end == event.lo:
                    self._woken(label, event, wait_ns)

    def _ends(self) -> Iterator[tuple[str, int]]:
        """Connections to slaves, and where what has left on them ends."""
        links = ((label, link) for label, link in self.known.links.items() if link.open and link.valid)
        return ((label, link.following) for label, link in links if link.following is not None)

    def _has_slave(self, append: Append) -> bool:
        """Whether the master lets the send wait, instead of answering that there is no slave."""
        behind = (append.hi or 0) - self.known.pushed
        return self.known.available > 0 and behind < self.known.setting(MASTER, "haSlaveFallbehindMax")

    @only(node=MASTER)
    def on_flush(self, event: Flush) -> None:
        """There may be, where only flushed bytes are pushed."""
        if not self.known.pushes_flushed:
            return
        before = self.known.logs.flushed.get(MASTER, 0)
        for label, end in self._ends():
            if before <= end < event.upto:
                self._woken(label, event, WAIT_NS)

    def _woken(self, link: str, event: Event, wait_ns: int) -> None:
        if link not in self.new and link not in self.blocked:
            self.judged += 1
            self.new.begin(link, event.t, wait_ns + self.known.healthy_ns, node=MASTER)

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

    def end(self, last: Event) -> None:
        self.new.close_all(last)

    def _late(self, event: Event, link: str, due: Deadline) -> None:
        at, late = self.known.links[link].following, (event.t - due.since) // MS
        self.violate(event, f"{link}: what was new at {at} did not leave for {late} ms", since=due.since)
