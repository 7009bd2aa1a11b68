"""``pull-answered``: a waiting pull is answered when a message for it arrives, or else when its time is up.

Checks:
- The master answers a consumer's waiting pull within 1 s of acknowledging a message at or above its offset with one of
  its tags. A black box has 6 s: RocketMQ may miss a message while it suspends the pull, until the next check.
- A broker answers a pull without a message after its 15 s, the next check (every 5 s), and 1 s.
Abstains when:
- The broker, the consumer or the client's link was disturbed since 5 s before the pull.
- The message is delayed or a half message: its sender receives another queue's offset.
- The message arrives at a slave: it wakes no pull there.
Source: PullRequestHoldService.notifyMessageArriving, checkHoldRequest; DefaultMQPushConsumerImpl
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
CHECK_NS = 5_000 * MS
SLACK_NS = 1_000 * MS
SETTLED_NS = 5_000 * MS
"""The longest after-effect of a fault on a link or in a broker that catches up."""


class Arrival(NamedTuple):
    ok: Ok
    tag: str | None
    """Empty without one; None if unknown."""


class PullAnswered(Law):
    needs = frozenset({"invoke", "ok", "consumer"})
    awaits = {"consumer": EVERY}
    timed = True

    def begin(self) -> None:
        self.arrived: dict[str | None, list[Arrival]] = {}

    @only("pull", "send")
    def on_ok(self, event: Ok) -> None:
        if event.f == "pull":
            self.on_fail(event)
        elif event.node == MASTER and event.status in contract.STORED:
            begun = self.known.calls.begun(event)
            if begun is not None and event.queue_offset is not None and not waits_first(begun.call):
                content = payload(begun.call.detail)
                arrival = Arrival(event, content.get("tags", "") if content else None)
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
        arrived_at = self._arrived_at(pull)
        if arrived_at is not None:
            bound = (CHECK_NS if known.is_a_black_box(node) else 0) + known.pool_ns(node)
            self._measure(pull, arrived_at, bound, event, " after a message had come for it")
        self._measure(pull, pull.t, SUSPENDED_NS + CHECK_NS, event, "; its time was up after 15 s")

    def _arrived_at(self, pull: Invoke) -> int | None:
        """When the first message for a waiting pull arrived, ns; None without one."""
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
