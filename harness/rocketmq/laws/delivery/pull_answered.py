"""``pull-answered``: a consumer's pull is answered when a message has come for it, and otherwise when its time is up.

Judged for pulls of consumers, which may wait 15 s at their broker. Once a sender has been told that its message is in
the queue, at or behind the offset from which a pull waits at the master, and the message has one of the tags that the
pull asks for, the master has a second to answer that pull. RocketMQ may overlook a message that comes while the pull is
being put aside, and finds it at its next look; so a black box has 6 s. Without a message the broker has the pull's
time, until its next look (every 5 s), and a second. All that only where nothing was wrong, 5 s before or since, with
the broker and the client's way to it.

Left out: delayed and half messages, whose senders are told an offset of another queue; pulls of clients that are no
consumers and do not wait; pulls whose broker or consumer went away; messages on slaves, which wake nobody.
Source: PullRequestHoldService.notifyMessageArriving and checkHoldRequest; DefaultMQPushConsumerImpl
(BROKER_SUSPEND_MAX_TIME_MILLIS).
"""

from pairproof.harness.content import told, waits_first
from pairproof.harness.history import MS, Event
from pairproof.harness.kinds.client import Consumer, Fail, Info, Invoke, Ok
from pairproof.harness.kinds.node import Crash, Stop
from pairproof.harness.rocketmq import contract
from pairproof.harness.rocketmq.known.consumed import subscribed
from pairproof.harness.rocketmq.known.consumption import PAIR
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER

SUSPENDED_NS = 15_000 * MS
LOOK_NS = 5_000 * MS
SLACK_NS = 1_000 * MS
SETTLED_NS = 5_000 * MS
"""What a fault leaves on the way, or in a broker that has to catch up, takes so long at most."""

Queue = tuple[str, str | None]
"""A broker and a queue of its."""


class PullAnswered(Law):
    id = "pull-answered"
    promise = "A pull that waits is answered when a message has come for it, and otherwise when its time is up."
    source = "PullRequestHoldService: notifyMessageArriving, checkHoldRequest"
    needs = frozenset({"invoke", "ok", "consumer"})
    timed = True

    def begin(self) -> None:
        self.waiting: dict[Queue, dict[int, Invoke]] = {}
        """Pulls under way, by their numbers."""
        self.arrived: dict[int, int] = {}
        """When a message had come for one of them, ns."""
        self.sends: dict[int, str | None] = {}
        """Sends under way of messages that go straight into their queues, and their tags (None: nobody said)."""

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "pull":
            if event.group is not None and event.node in PAIR:
                self.waiting.setdefault((event.node, event.queue), {})[event.op] = event
        elif event.f == "send" and event.node == MASTER and not waits_first(event):
            said = told(event.detail)
            self.sends[event.op] = said.get("tags", "") if said else None

    def on_ok(self, event: Ok) -> None:
        if event.f == "pull":
            self._ended(event)
        elif event.op in self.sends and event.f == "send":
            tag, offset = self.sends.pop(event.op), event.queue_offset
            if offset is not None and event.status in contract.STORED:
                for number, pull in self.waiting.get((MASTER, event.queue), {}).items():
                    wanted = subscribed(pull.detail)
                    if (pull.asked_from or 0) <= offset and (wanted is None or tag in wanted):
                        self.arrived.setdefault(number, event.t)

    def on_fail(self, event: Fail | Info) -> None:
        if event.f == "pull":
            self._ended(event)
        else:
            self.sends.pop(event.op, None)

    on_info = on_fail

    def on_consumer(self, event: Consumer) -> None:
        if event.status != "on":
            for pulls in self.waiting.values():
                for number in [number for number, pull in pulls.items() if pull.process == event.process]:
                    del pulls[number]

    def on_crash(self, event: Crash | Stop) -> None:
        """Its connections end with it."""
        for node, queue in list(self.waiting):
            if node == event.node:
                del self.waiting[node, queue]

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for pulls in self.waiting.values():
            for pull in pulls.values():
                self._judge(pull, last)

    def _ended(self, event: Ok | Fail | Info) -> None:
        pull = self.waiting.get((event.node, event.queue), {}).pop(event.op, None)
        if pull is not None:
            self._judge(pull, event)
            self.arrived.pop(event.op, None)

    def _judge(self, pull: Invoke, event: Event) -> None:
        node, healthy = pull.node, self.known.healthy_ns
        came = self.arrived.get(pull.op)
        if came is not None:
            bound = SLACK_NS + healthy + (LOOK_NS if self.known.is_a_black_box(node) else 0)
            what = (
                f"for {pull.queue} waited at {node} for {(event.t - came) / MS:.0f} ms after a message had come for it"
            )
            self._measure(node, came, bound, event, what)
        bound = SUSPENDED_NS + LOOK_NS + SLACK_NS + healthy
        what = f"for {pull.queue} waited at {node} for {(event.t - pull.t) / MS:.0f} ms; its time was up after 15 s"
        self._measure(node, pull.t, bound, event, what)

    def _measure(self, node: str, since: int, bound: int, event: Event, what: str) -> None:
        trouble, now = self.known.trouble, event.t
        before = max(0, since - SETTLED_NS)
        if trouble.still_ns(node, before, now):
            return
        if not (trouble.is_quiet(node, before) and trouble.is_quiet(f"client-{node}", before)):
            return
        self.judged += 1
        if now - since > bound:
            self.violate(event, f"a pull {what}", since=since)
