"""``ha-appends-frames``: a slave appends exactly the bodies of the complete frames that it received, all of them, in
order.

Checks:
- Each append is, byte for byte, the next frame of this connection that continued the log. Incomplete frames leave
  nothing.
- No frame is left out: a slave that cannot append (a full disk, files of another size than the master's) closes the
  connection.
Abstains when:
- The slave does not trace its appends, even if a reader finds records in its files.
- The frame does not continue the log (see ``ha-mismatch-closes``).
- The slave received the frame just before it was stopped: it may still append it or not.
Source: HAService.HAClient.dispatchReadRequest.
"""

from collections import deque

from ....history import Event
from ....judging.law import DURABILITY, only
from ...event_types.ha import Close, Connect, Frame
from ...event_types.log import Append
from ...known.deadlines import POLL_NS, is_late
from ...law import Law
from ...topology import MASTER, NO_SLAVES


class HaAppendsFrames(Law):
    kind = DURABILITY
    # Only traced processes record flushes.
    needs = frozenset({"append", "flush", "frame", "close"})
    timed = True

    def begin(self) -> None:
        self.received: dict[tuple[str, int], deque[Frame]] = {}
        """By slave and incarnation: received frames that are not appended yet."""
        self.closed: set[str] = set()

    def on_connect(self, event: Connect) -> None:
        if event.side == "s":
            self.received[self._incarnation(event.node)] = deque()
            self.closed.discard(event.node)

    @only(but=NO_SLAVES)
    def on_frame(self, event: Frame) -> None:
        if event.lo == event.hi or self._is_old(event):
            return
        end = self.known.streams.get(event.link)
        if end is not None and (end == event.lo or end == 0):
            self.received.setdefault(self._incarnation(event.node), deque()).append(event)

    def on_append(self, event: Append) -> None:
        node = event.node
        if node == MASTER or node in self.known.logs.by_records:
            return
        self.judged += 1
        received = self.received.get(self._incarnation(node)) or deque()
        while received and received[0].lo != event.lo and any(each.lo == event.lo for each in received):
            self._left_out(event, received.popleft())
        if not received or (received[0].lo, received[0].hi) != (event.lo, event.hi):
            self.violate(
                event, f"{node} appended [{event.lo}, {event.hi}), which no complete frame contained", since=None
            )
            return
        frame = received.popleft()
        if frame.digest != event.digest:
            what = f"{node} appended other bytes as [{event.lo}, {event.hi}) than {frame.link} carried"
            self.violate(event, what, since=None)

    @only(but=NO_SLAVES)
    def on_close(self, event: Close) -> None:
        if not self._is_old(event):
            self._overdue(event, event.node, self.known.healthy_ns)
            if event.f == "local":
                self.closed.add(event.node)

    def end(self, last: Event) -> None:
        for node in self.known.up - self.closed:
            self._overdue(last, node, POLL_NS)

    def _incarnation(self, node: str) -> tuple[str, int]:
        """An ended slave's incarnation counts on: it may append received frames while it stops."""
        return node, self.known.nodes.ended(node) - (node not in self.known.up)

    def _is_old(self, event: Frame | Close) -> bool:
        """Whether it came on an older connection, open as the machine was off the network at the slave's end."""
        return self.known.slave_link.get(event.node, event.link) != event.link

    def _overdue(self, event: Event, node: str, bound: int) -> None:
        known, received = self.known, self.received.get(self._incarnation(node))
        if not received or node not in known.up:
            return
        if node in known.logs.traced - known.logs.by_records and is_late(known, node, received[0].t, event.t, bound):
            self._left_out(event, received[0], received[0].t)

    def _left_out(self, event: Event, frame: Frame, since: int | None = None) -> None:
        what = f"{frame.node} never appended [{frame.lo}, {frame.hi}), which {frame.link} carried"
        self.violate(event, what, since=since)
