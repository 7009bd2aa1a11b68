"""``live-progress``: during a fault, calls between unaffected brokers and clients are answered in time.

Checks:
- A send or pull that begins while a fault is active elsewhere, or another broker is paused, is answered with any status
  within 1 s; for a send plus the longest wait that a master may impose (syncFlushTimeout or slaveTimeout).
Abstains when:
- The call's broker is down, or it or the client's link was disturbed since the client's first use of the connection.
- The client is a consumer: a broker may hold its pulls.
- The call is a send, up to 4.9.2: sends wait one after the other, each for a whole wait.
Source: BrokerController: client requests and replication have separate threads. By design, a broker's clients depend on
that broker alone.
"""

from ....event_types.client import Fail, Info, Invoke, Ok
from ....history import MS, UNREADABLE, Event
from ....judging.law import EVERY, only
from ...known.calls import Begun
from ...known.in_flight import REQUEST_BYTES
from ...law import Law
from ...settings import DEFAULTS, line
from ...topology import MASTER, OTHER

SLACK_MS = 1_000
CALLS = ("send", "pull", "select", "topic", "group", "delete-topic", "delete-group")


class LiveProgress(Law):
    needs = frozenset({"invoke", "ok", "fault"})
    awaits = {"fault": EVERY, "pause": EVERY, "crash": EVERY, "stop": EVERY}
    timed = True

    def _is_judged(self, begun: Begun[Invoke]) -> bool:
        call, known = begun.call, self.known
        # Up to 4.9.2 a send waits for its turn, for an unknown time.
        if call.f == "send" and line(known.config.get(MASTER, DEFAULTS)).in_turn:
            return False
        # A producer's retry first asks for routes.
        if call.group is not None or call.f == "produce" or not begun.is_up:
            return False
        ways, since = (call.node, f"client-{call.node}"), known.calls.first_at(call.process)
        if not begun.disturbed or not begun.disturbed.isdisjoint(ways) or call.node not in known.up:
            return False
        # A client may not have noticed that its connection ended with an earlier incarnation.
        return known.nodes.ended_at.get(call.node, -1) < since and known.disturbances.is_undisturbed(since, *ways)

    def _bound_ns(self, call: Invoke) -> int:
        ms = SLACK_MS
        if call.f == "send":
            settings = self.known.config.get(MASTER, DEFAULTS)
            ms += max(int(settings["syncFlushTimeout"]), int(settings["slaveTimeout"]))
        # A pull may return the largest body that was sent.
        requests = 1 + self.known.sent.largest(call.seq) // REQUEST_BYTES
        return ms * MS + self.known.healthy_ns * requests

    @only(*CALLS)
    def on_ok(self, event: Ok | Fail | Info) -> None:
        begun = self.known.calls.begun(event)
        if begun is not None:
            self._judge(begun, event, event.kind != "info" or event.status == UNREADABLE)

    on_fail = on_info = on_ok

    def end(self, last: Event) -> None:
        for begun in self.known.calls.open():
            if begun.call.node != OTHER and last.t - begun.call.t > self._bound_ns(begun.call):
                self._judge(begun, last, served=False)

    def _judge(self, begun: Begun[Invoke], now: Event, served: bool) -> None:
        if not self._is_judged(begun):
            return
        call = begun.call
        took, bound = now.t - call.t, self._bound_ns(call)
        if not served and took <= bound and now.status == "timeout":
            # The client's timeout is shorter than the master's longest wait.
            return
        self.judged += 1
        if not served or took > bound:
            what = f"the send of {call.message}" if call.f == "send" else f"a pull at {call.asked_from}"
            how = f"took {took / MS:.0f} ms" if served else "was not answered"
            text = f"{what} {how}: nothing was wrong with {call.node}; {bound / MS:.0f} ms are enough"
            self.violate(now, text, since=call.t)
