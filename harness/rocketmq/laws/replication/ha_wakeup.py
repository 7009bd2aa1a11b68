"""``ha-wakeup``: what is new leaves at once for a slave that has all the rest: within the writer's wait of 100 ms.

A send that waits for slaves wakes the writers, so its bytes leave within one round of 10 ms. New is what the master
appended or, where it pushes only flushed bytes, what it flushed. Judged where the link was idle and the slave caught
up: the last frame, or the first report, ended where the new bytes begin.

Left out: slaves that lag behind, and links that take no more; the 10 ms where only flushed bytes are pushed, and where
the send has no slave to wait for. Source: HAConnection.WriteSocketService, which waits 100 ms on WaitNotifyObject;
CommitLog.submitReplicaRequest, which wakes it.
"""

from pairproof.harness.history import MS, Event
from pairproof.harness.kinds.client import Invoke
from pairproof.harness.kinds.node import Crash, Stop
from pairproof.harness.law import CONVENTION, only
from pairproof.harness.rocketmq.kinds.ha import Close, Frame, Partial, Report
from pairproof.harness.rocketmq.kinds.log import Append, Flush
from pairproof.harness.rocketmq.known.model import VALID
from pairproof.harness.rocketmq.known.waits import is_late
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.laws.acks.answering import ROUND_NS
from pairproof.harness.rocketmq.places import MASTER

WAIT_NS = 100 * MS


class Writer:
    """The master's end of a connection that it serves."""

    __slots__ = ("blocked", "end", "new_since", "wait_ns")

    def __init__(self, end: int | None) -> None:
        self.end = end
        """Where what has left ends; unknown until the first frame where a copy starts without a log."""
        self.new_since: int | None = None
        self.wait_ns = WAIT_NS
        """For how long what is new may wait."""
        self.blocked = False


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
        self.writers: dict[str | None, Writer] = {}
        self.waiting: set[str | None] = set()
        """Sends that will wait for slaves and have not been appended yet."""

    def on_report(self, event: Report) -> None:
        if event.side == "m" and self.known.is_first(event) and self.known.hears(event) is VALID:
            self.writers[event.link] = Writer(event.offset or None)

    @only("send", node=MASTER)
    def on_invoke(self, event: Invoke) -> None:
        if event.waits and self.known.needed:
            self.waiting.add(event.message)

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        # A delayed message is put once more when its time has come, and waits for nobody then.
        wait_ns = ROUND_NS if event.message in self.waiting and self._has_slave(event) else WAIT_NS
        self.waiting.discard(event.message)
        if self.writers and not self.known.pushes_flushed:
            for writer in self.writers.values():
                if writer.end == event.lo:
                    self._woken(writer, event, wait_ns)

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
        for writer in self.writers.values():
            if writer.end is not None and before <= writer.end < event.upto:
                self._woken(writer, event, WAIT_NS)

    def _woken(self, writer: Writer, event: Event, wait_ns: int) -> None:
        if writer.new_since is None and not writer.blocked:
            self.judged += 1
            writer.new_since, writer.wait_ns = event.t, wait_ns

    def on_frame(self, event: Frame) -> None:
        if event.side != "m":
            return
        writer = self.writers.get(event.link)
        if writer is None:
            return
        if event.lo != event.hi:
            self._left(event, event.link, writer)
        writer.end = event.hi
        writer.blocked = False

    @only("out")
    def on_partial(self, event: Partial) -> None:
        if event.side == "m":
            writer = self.writers.get(event.link)
            if writer is not None:
                self._left(event, event.link, writer)
                writer.blocked = True

    def on_close(self, event: Close) -> None:
        if event.side == "m":
            writer = self.writers.pop(event.link, None)
            if writer is not None:
                self._left(event, event.link, writer)

    @only(node=MASTER)
    def on_crash(self, event: Crash | Stop) -> None:
        self.end(event)
        self.writers.clear()

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for link, writer in self.writers.items():
            self._left(last, link, writer)

    def _left(self, event: Event, link: str | None, writer: Writer) -> None:
        since, writer.new_since = writer.new_since, None
        if since is not None and is_late(self.known, MASTER, since, event.t, writer.wait_ns + self.known.healthy_ns):
            what = f"{link}: what was new at {writer.end} did not leave for {(event.t - since) // MS} ms"
            self.violate(event, what, since=since)
