"""``live-progress``: while something is broken, whatever is not broken goes on serving.

Asked of every send and pull that begins while a fault is active somewhere or another broker stands still: if its own
broker is up and neither that broker nor its client's link has been touched since the client first used its connection,
then it is answered in time, with whatever status. In time is, for a send, the longest wait that a master may impose
(syncFlushTimeout or slaveTimeout), for a pull nothing; and a second for everything else. So a master serves while its
slaves and their links are in trouble, and a slave serves while its master is.

Left out: calls without a fault elsewhere and how each wait is bounded, see ``ack-bounded``; a refusal is an answer, see
``contract``; consumers' calls, since a broker may hold their pulls. Up to 4.9.2 sends wait for slaves one after the
other: there each may cost those behind it a whole wait.
Source: the design: a broker's clients depend on that broker alone.
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
    id = "live-progress"
    promise = "During a fault brokers and clients that it does not touch go on: their calls are answered in time."
    source = "BrokerController: client requests and replication have separate threads"
    needs = frozenset({"invoke", "ok", "fault"})
    awaits = {"fault": EVERY, "pause": EVERY, "crash": EVERY, "stop": EVERY}
    timed = True

    def _is_due(self, begun: Begun[Invoke]) -> bool:
        """Whether nothing has happened to this call's broker and its way there, while something was wrong elsewhere."""
        call, known = begun.call, self.known
        # Up to 4.9.2 a send waits for its turn, and nobody can say for how long.
        if call.f == "send" and line(known.config.get(MASTER, DEFAULTS)).in_turn:
            return False
        # A producer that tries again first asks for routes, and others.
        if call.group is not None or call.f == "produce" or not begun.is_up:
            return False
        ways, since = (call.node, f"client-{call.node}"), known.calls.first_at(call.process)
        if not begun.disturbed or not begun.disturbed.isdisjoint(ways) or call.node not in known.up:
            return False
        # The connections of a broker that went down are gone with it, and maybe nobody told their clients.
        return known.nodes.ended_at.get(call.node, -1) < since and known.disturbances.is_undisturbed(since, *ways)

    def _bound_ns(self, call: Invoke) -> int:
        ms = SLACK_MS
        if call.f == "send":
            settings = self.known.config.get(MASTER, DEFAULTS)
            ms += max(int(settings["syncFlushTimeout"]), int(settings["slaveTimeout"]))
        # An answer to a pull may bring the largest body that was sent.
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
        if not self._is_due(begun):
            return
        call = begun.call
        took, bound = now.t - call.t, self._bound_ns(call)
        if not served and took <= bound and now.status == "timeout":
            # Its client was less patient than a master may be slow.
            return
        self.judged += 1
        if not served or took > bound:
            what = f"the send of {call.message}" if call.f == "send" else f"a pull at {call.asked_from}"
            how = f"took {took / MS:.0f} ms" if served else "was not answered"
            text = f"{what} {how}: nothing was wrong with {call.node}; {bound / MS:.0f} ms are enough"
            self.violate(now, text, since=call.t)
