"""``pull-answered``: a consumer's pull is answered when a message has come for it, and otherwise when its time is up.

Judged for pulls of consumers, which may wait 15 s at their broker. Once a sender has been told that its message is in
the queue, at or behind the offset from which a pull waits at the master, and the message has one of the tags that the
pull asks for, the master has a second to answer that pull. RocketMQ may overlook a message that comes while the pull is
being put aside, and finds it at its next look; so a black box has 6 s. Without a message the broker has the pull's
time, until its next look (every 5 s), and a second. All that only where nothing was wrong with the broker and the
client's way to it since 5 s before the pull left, so that it reached the broker.

Left out: delayed and half messages, whose senders are told an offset of another queue; pulls of clients that are no
consumers and do not wait; pulls whose broker or consumer went away; messages on slaves, which wake nobody.
Source: PullRequestHoldService.notifyMessageArriving and checkHoldRequest; DefaultMQPushConsumerImpl
(BROKER_SUSPEND_MAX_TIME_MILLIS).
"""

from typing import NamedTuple

from ....event_types.client import Fail, Info, Invoke, Ok
from ....history import MS, Event
from ....judging.law import EVERY, only
from ....texts.content import payload, waits_first
from ... import contract
from ...known.calls import Begun
from ...known.consumed import subscribed
from ...known.consumption import PAIR
from ...law import Law
from ...topology import MASTER

SUSPENDED_NS = 15_000 * MS
LOOK_NS = 5_000 * MS
SLACK_NS = 1_000 * MS
SETTLED_NS = 5_000 * MS
"""What a fault leaves on the way, or in a broker that has to catch up, takes so long at most."""


class Arrival(NamedTuple):
    """A sender was told that its message is in the master's queue."""

    ok: Ok
    tag: str | None
    """Empty without one; None: nobody said."""


class PullAnswered(Law):
    id = "pull-answered"
    promise = "A pull that waits is answered when a message has come for it, and otherwise when its time is up."
    source = "PullRequestHoldService: notifyMessageArriving, checkHoldRequest"
    needs = frozenset({"invoke", "ok", "consumer"})
    awaits = {"consumer": EVERY}
    timed = True

    def begin(self) -> None:
        self.arrived: dict[str | None, list[Arrival]] = {}
        """By queue of the master."""

    @only("pull", "send")
    def on_ok(self, event: Ok) -> None:
        if event.f == "pull":
            self.on_fail(event)
        elif event.node == MASTER and event.status in contract.STORED:
            begun = self.known.calls.begun(event)
            if begun is not None and event.queue_offset is not None and not waits_first(begun.call):
                said = payload(begun.call.detail)
                arrival = Arrival(event, said.get("tags", "") if said else None)
                self.arrived.setdefault(event.queue, []).append(arrival)

    @only("pull")
    def on_fail(self, event: Fail | Info | Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is not None:
            self._judge(begun, event)

    on_info = on_fail

    def end(self, last: Event) -> None:
        for node in sorted(PAIR):
            for begun in self.known.calls.open_at(node):
                if begun.call.f == "pull":
                    self._judge(begun, last)

    def _judge(self, begun: Begun[Invoke], event: Event) -> None:
        pull = begun.call
        node, known = pull.node, self.known
        if node not in PAIR or pull.process not in known.consumption.consumers:
            return
        before = max(0, pull.t - SETTLED_NS)
        if not (known.calls.is_current(pull) and known.disturbances.is_undisturbed(before, node, f"client-{node}")):
            return
        came = self._came_at(pull)
        if came is not None:
            bound = LOOK_NS if known.is_a_black_box(node) else 0
            self._measure(pull, came, bound, event, " after a message had come for it")
        self._measure(pull, pull.t, SUSPENDED_NS + LOOK_NS, event, "; its time was up after 15 s")

    def _came_at(self, pull: Invoke) -> int | None:
        """When a message had come for a pull that waits, ns; None if none has."""
        wanted, first = subscribed(pull.detail), None
        for ok, tag in reversed(self.arrived.get(pull.queue, ()) if pull.node == MASTER else ()):
            if ok.seq < pull.seq:
                break
            if (pull.asked_from or 0) <= (ok.queue_offset or 0) and (wanted is None or tag in wanted):
                first = ok.t
        return first

    def _measure(self, pull: Invoke, since: int, bound: int, event: Event, why: str) -> None:
        self.judged += 1
        took = event.t - since
        if took > bound + SLACK_NS + self.known.healthy_ns:
            what = f"a pull for {pull.queue} waited at {pull.node} for {took / MS:.0f} ms"
            self.violate(event, f"{what}{why}", since=since)
