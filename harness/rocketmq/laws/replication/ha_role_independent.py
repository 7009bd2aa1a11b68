"""``ha-role-independent``: in either role a connection carries the master's log, and an idle one has carried all of it.

SYNC_MASTER and ASYNC_MASTER differ in which sends wait, not in replication.

Checks:
- Each body is the bytes of the master's log there (``source``).
- After a poll without new bytes, the pushed range ends at the log end. Where only flushed bytes are pushed, it ends at
  the flushed end, and no body exceeds that.
Abstains when:
- The link's socket is full, or the slave's next bytes have expired.
Source: the design; CommitLog.submitReplicaRequest is the only check of the role in RocketMQ's replication.
"""

from dataclasses import dataclass

from ....event_types.node import Crash, Stop
from ....history import Event
from ....judging.law import only
from ...event_types.ha import Close, Diverged, Frame, Partial, Report
from ...event_types.log import Source
from ...known.deadlines import POLL_NS, is_late
from ...known.ha_links import VALID
from ...law import Law
from ...topology import MASTER


@dataclass(slots=True, eq=False)
class Copy:
    """The range that the master has pushed on one connection."""

    end: int | None
    """None: nothing yet, and the slave has no log."""
    since: int
    blocked: bool = False


class HaRoleIndependent(Law):
    needs = frozenset({"config", "append", "report", "frame", "source", "partial", "close"})
    timed = True

    def begin(self) -> None:
        self.copies: dict[str | None, Copy] = {}
        self.pushed: Event | None = None

    @only(node=MASTER)
    def on_report(self, event: Report) -> None:
        if self.known.is_first(event) and self.known.validity(event) is VALID:
            self.copies[event.link] = Copy(event.offset or None, event.t)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        self.pushed = event
        hi = event.hi
        if self.known.pushes_flushed and event.lo != hi and "flush" in self.known.observes:
            self.judged += 1
            limit, _ = self._limit()
            if hi > limit:
                what = f"{event.link}: [{event.lo}, {hi}) left, but the log is flushed up to {limit}"
                self.violate(event, what, since=None)
        copy = self.copies.get(event.link)
        if copy is not None:
            if event.lo != event.hi:
                copy.since = event.t
            copy.end, copy.blocked = event.hi, False

    def on_source(self, event: Source) -> None:
        pushed, self.pushed = self.pushed, None
        if pushed is not None and (pushed.lo, pushed.hi) == (event.lo, event.hi):
            self.judged += 1
            if pushed.digest != event.digest:
                what = f"{pushed.link}: [{pushed.lo}, {pushed.hi}) was pushed with bytes of another log"
                self.violate(event, what, since=None)

    @only("out", node=MASTER)
    def on_partial(self, event: Partial) -> None:
        if event.link in self.copies:
            self.copies[event.link].blocked = True

    def on_diverged(self, event: Diverged) -> None:
        self.copies.pop(event.link, None)

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        copy = self.copies.pop(event.link, None)
        if copy is not None:
            self._complete(event, event.link, copy)

    @only(node=MASTER)
    def on_crash(self, event: Crash | Stop) -> None:
        self.end(event)
        self.copies.clear()

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for link, copy in self.copies.items():
            self._complete(last, link, copy)

    def _limit(self) -> tuple[int, int]:
        """The end of the bytes that the master may push, and since when, ns."""
        known = self.known
        if not known.pushes_flushed:
            return known.logs.ends.get(MASTER, 0), known.dispatched.grown.get(MASTER, 0)
        flushes = known.logs.flushes
        return known.logs.flushed.get(MASTER, 0), flushes[-1][1] if flushes else known.nodes.last_start(MASTER)

    def _complete(self, event: Event, link: str | None, copy: Copy) -> None:
        known = self.known
        limit, new_at = self._limit()
        idle_since = max(copy.since, new_at)
        bound = POLL_NS + known.pool_ns(MASTER) + known.healthy_ns
        if copy.blocked or not is_late(known, MASTER, idle_since, event.t, bound):
            return
        self.judged += 1
        if copy.end is None:
            size = known.setting(MASTER, "mappedFileSizeCommitLog")
            complete = limit % size == 0
        else:
            # A slave may already hold unflushed bytes.
            complete = copy.end == limit or (self.known.pushes_flushed and copy.end > limit)
        if not complete:
            what = f"{link}: the idle link has carried up to {copy.end}, the log ends at {limit}"
            self.violate(event, what, since=idle_since)
