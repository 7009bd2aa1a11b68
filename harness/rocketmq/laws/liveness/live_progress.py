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

from ....history import MS, UNREADABLE, Event
from ....kinds.client import Fail, Info, Invoke, Ok, Try
from ...kinds.transactions import Decide
from ...known.sends import requests
from ...law import Law
from ...places import MASTER
from ...settings import DEFAULTS, line

SLACK_MS = 1_000


class LiveProgress(Law):
    id = "live-progress"
    promise = "During a fault brokers and clients that it does not touch go on: their calls are answered in time."
    source = "BrokerController: client requests and replication have separate threads"
    needs = frozenset({"invoke", "ok", "fault"})
    timed = True

    def begin(self) -> None:
        self.first: dict[int | None, int] = {}
        """When a client, and with it its connection, began, ns."""
        self.waiting: dict[int | None, tuple[Invoke, int]] = {}
        """Calls that began while a fault was active elsewhere, and their bounds, ns."""
        self.largest = 1
        """What the largest call so far spends on the way, in requests: an answer to a pull may bring its body."""

    def on_decide(self, event: Decide | Try) -> None:
        """Other calls have used its connection, too."""
        self.first.setdefault(event.process, event.t)

    on_try = on_decide

    def on_invoke(self, event: Invoke) -> None:
        self.first.setdefault(event.process, event.t)
        self.largest = max(self.largest, requests(event))
        # Up to 4.9.2 a send waits for its turn, and nobody can say for how long.
        if event.f == "send" and line(self.known.config.get(MASTER, DEFAULTS)).in_turn:
            return
        # A producer that tries again first asks for routes, and others.
        if event.group is not None or event.f == "produce":
            return
        if self._elsewhere(event.node) and self._untouched(event):
            self.waiting[event.op] = (event, self._bound_ns(event))

    def _elsewhere(self, node: str) -> bool:
        trouble = self.known.trouble
        if any((each.node or each.link or "") not in (node, f"client-{node}") for each in trouble.active.values()):
            return True
        return any(other != node and trouble.is_still(other) for other in self.known.config)

    def _untouched(self, call: Invoke) -> bool:
        """Whether nothing has happened to this call's broker and its way there."""
        node, since = call.node, self.first.get(call.process, call.t)
        # The connections of a broker that went down are gone with it, and maybe nobody told their clients.
        if node not in self.known.up or self.known.nodes.ended_at.get(node, -1) >= since:
            return False
        return self.known.trouble.is_undisturbed(since, node, f"client-{node}")

    def _bound_ns(self, call: Invoke) -> int:
        ms = SLACK_MS
        if call.f == "send":
            settings = self.known.config.get(MASTER, DEFAULTS)
            ms += max(int(settings["syncFlushTimeout"]), int(settings["slaveTimeout"]))
        return ms * MS + self.known.healthy_ns * self.largest

    def on_ok(self, event: Ok | Fail) -> None:
        asked = self.waiting.pop(event.op, None)
        if asked is not None:
            self._judge(*asked, event, served=True)

    on_fail = on_ok

    def on_info(self, event: Info) -> None:
        asked = self.waiting.pop(event.op, None)
        if asked is not None:
            self._judge(*asked, event, served=event.status == UNREADABLE)

    def end(self, last: Event) -> None:
        for call, bound in self.waiting.values():
            if last.t - call.t > bound:
                self._judge(call, bound, last, served=False)

    def _judge(self, call: Invoke, bound: int, now: Event, served: bool) -> None:
        node = call.node or ""
        if not self._untouched(call):
            return
        took = now.t - call.t
        if not served and took <= bound and now.status == "timeout":
            # Its client was less patient than a master may be slow.
            return
        self.judged += 1
        if not served or took > bound:
            what = f"the send of {call.message}" if call.f == "send" else f"a pull at {call.asked_from}"
            how = f"took {took / MS:.0f} ms" if served else "was not answered"
            text = f"{what} {how}: nothing was wrong with {node}; {bound / MS:.0f} ms are enough"
            self.violate(now, text, since=call.t)
