"""``queue-paced``: a consumer pulls each of its queues, one pull at a time and without a break; it commits every 5 s
and renews its locks every 20 s.

Checks:
- It pulls a queue from its assignment on, one pull at a time, and no queue that it does not hold. The next pull follows
  immediately after progress, 20 ms after the begin of a pull without progress, and 3 s after a failure. After
  PULL_OFFSET_MOVED it does not pull, but gives the queue up after 10 s.
- A consumer that shares queues commits every 5 s, if no commit is in flight; without a master in its route it requests
  the route first.
- A member of an orderly group renews its locks every 20 s, not later and not sooner. It takes a queue within a second
  after it got the lock, or returns the lock, if master and link are undisturbed.
Abstains when:
- The group is orderly: pulls, commits and the reaction to PULL_OFFSET_MOVED wait for locks.
- The consumer's route lacks the broker, or its master, or a pull carries the commit.
- The lab is a real-time one (not applicable): its clients do not record this.
Source: DefaultMQPushConsumerImpl.pullMessage (PULL_TIME_DELAY_MILLS_WHEN_EXCEPTION, OFFSET_ILLEGAL: 10 s),
MQClientInstance (persistAllConsumerOffset every 5 s), ConsumeMessageOrderlyService (REBALANCE_LOCK_INTERVAL); the pause
of 20 ms is that of the lab's consumers.
"""

from __future__ import annotations

import json

from ....event_types.client import Assign, Consumer, Fail, Info, Invoke, Ok
from ....event_types.machine import Lab, Mark
from ....history import MS, Event
from ....judging.law import CONVENTION, EVERY, only
from ...event_types.groups import Ask, Lock
from ...known.deadlines import Deadline, Deadlines
from ...law import Law
from ...topology import OTHER, masters_of

RETRY_NS = 3_000 * MS
REST_NS = 20 * MS
MOVED_REST_NS = 10_000 * MS
COMMIT_NS = 5_000 * MS
LOCK_NS = 20_000 * MS
MOVED = "PULL_OFFSET_MOVED"
TAKE_NS = 1_000 * MS
SETTLED_NS = 5_000 * MS
NEVER = 1 << 62

Holding = tuple[int, bool, str]
"""A consumer's process, whether the broker name is the other one, and the queue."""


class Held:
    """The state of a queue while a consumer holds it. Times are in ns."""

    __slots__ = (
        "asked", "commit_at", "commit_by", "commit_from", "commits", "lock_at", "lock_by", "locks", "pull_at",
        "pull_by", "pull_from", "pulls", "shares", "since",
    )  # fmt: skip

    def __init__(self, t: int, way: str) -> None:
        self.shares, self.locks = way == "clustering", way == "orderly"
        self.pulls: int | None = None
        """The pull in flight, its begin, and its offset."""
        self.pull_at, self.asked = t, 0
        self.since = t
        self.pull_from, self.pull_by = t, NEVER if self.locks else t
        self.commits: int | None = None
        self.commit_at = self.commit_from = t
        """When the last commit was sent, and when its round began."""
        self.commit_by = t + COMMIT_NS if self.shares else NEVER
        self.lock_at: int | None = None
        self.lock_by = t + LOCK_NS if self.locks else NEVER

    def pulls_next(self, now: int, at: int) -> None:
        """End the pull; the next one is due at ``at``."""
        self.pulls, self.since, self.pull_from = None, now, at
        self.pull_by = NEVER if self.locks else at

    def stops_pulling(self, now: int) -> None:
        """End the pull; the queue must be given up."""
        self.pulls, self.since, self.pull_from, self.pull_by = None, now, NEVER, now + MOVED_REST_NS
        self.commit_by = NEVER


class QueuePaced(Law):
    kind = CONVENTION
    needs = frozenset({"ask", "assign", "invoke", "ok"})
    ignored_nodes = frozenset()
    awaits = {"consumer": EVERY, "assign": EVERY, "ask": EVERY, "lock": EVERY}
    timed = True

    def begin(self) -> None:
        self.modes: dict[int, str] = {}
        self.held: dict[Holding, Held] = {}
        self.asked: dict[Holding, int] = {}
        """Lock calls for queues that the consumer does not hold."""
        self.given = Deadlines[Holding](self, self._is_not_taken)
        """Locks whose queues the consumer has not taken yet."""
        self.routes: dict[int, dict[str | None, dict[str, dict[str, str]]]] = {}
        """By process and topic, the newest last: broker name to id to node."""
        self.asking: dict[tuple[int, str | None], tuple[int, int | None]] = {}
        """By process and topic: begin and end of the last series of route requests."""

    def on_lab(self, event: Lab) -> None:
        self.applicable = not event.in_real_time

    def on_consumer(self, event: Consumer) -> None:
        self._check_overdue(event)
        if event.status == "on":
            self.modes[event.process] = event.f
            return
        self.modes.pop(event.process, None)
        self.routes.pop(event.process, None)
        for table in (self.held, self.given):
            for key in [key for key in table if key[0] == event.process]:
                del table[key]

    def on_assign(self, event: Assign) -> None:
        self._check_overdue(event)
        key = event.process, event.node == OTHER, event.queue
        self.given.pop(key, None)
        if event.status == "on":
            self.held[key] = Held(event.t, self.modes.get(event.process, ""))
            self._excuse(event.process)
        else:
            self.held.pop(key, None)

    def on_mark(self, event: Mark) -> None:
        self._check_overdue(event)

    def end(self, last: Event) -> None:
        self._check_overdue(last)

    def on_ask(self, event: Ask) -> None:
        self._check_overdue(event)
        if event.f != "route":
            return
        key = event.process, event.topic
        began, ended = self.asking.get(key, (event.t, event.t))
        if event.status == "asked":
            self.asking[key] = began if ended == event.t else event.t, None
            return
        self.asking[key] = began, event.t
        if event.status == "answered":
            routes = self.routes.setdefault(event.process, {})
            routes.pop(event.topic, None)
            routes[event.topic] = json.loads(event.detail or "{}")
            self._excuse(event.process)

    def _excuse(self, process: int) -> None:
        """Drop deadlines for brokers and masters that the consumer's route lacks."""
        named = {name: nodes for route in self.routes.get(process, {}).values() for name, nodes in route.items()}
        known = {node == OTHER for nodes in named.values() for node in nodes.values()}
        masters = {node == OTHER for node in masters_of(named.values())}
        for key in [key for key in self.given if key[0] == process and key[1] not in masters]:
            del self.given[key]
        for key, held in self.held.items():
            if key[0] == process and key[1] not in known:
                held.pull_by = NEVER
            if key[0] == process and key[1] not in masters:
                held.commit_by = held.lock_by = NEVER

    @only("pull", "commit")
    def on_invoke(self, event: Invoke) -> None:
        if event.group is None or event.process not in self.modes:
            return
        held = self.held.get(self._key(event))
        if event.f == "pull":
            self._pulls(event, held)
        elif held is not None and not event.value:
            began = self._since(event.process, event.queue, event.t)
            self._check(event, held.commit_at, held.commit_by, f"commits {event.queue}", began)
            held.commits, held.commit_at, held.commit_from, held.commit_by = event.op, event.t, began, NEVER

    def _pulls(self, event: Invoke, held: Held | None) -> None:
        self.judged += 1
        who = f"client {event.process} pulls {event.queue}"
        if held is None:
            self.violate(event, f"{who}, which it does not hold", since=None)
            return
        if held.pulls is not None:
            self.violate(event, f"{who} while another pull of it is in flight", since=None)
        elif held.pull_from == NEVER:
            self.violate(event, f"{who}, although the broker answered {MOVED}", since=None)
        elif event.t < held.pull_from - self.known.instant_ns:
            self.violate(event, f"{who} {(held.pull_from - event.t) / MS:g} ms too soon", since=None)
        else:
            self._check(event, held.since, held.pull_by, f"pulls {event.queue}")
        held.pulls, held.pull_at, held.asked, held.pull_by = event.op, event.t, event.asked_from or 0, NEVER

    def on_lock(self, event: Lock) -> None:
        self._check_overdue(event)
        for queue in json.loads(event.detail):
            key = event.process, event.node == OTHER, queue
            held = self.held.get(key)
            self.given.pop(key, None)
            asked = self.asked.pop(key, None)
            if held is None and event.f == "lock" and event.process in self.modes:
                # A renewal may end after its queue was given up.
                if event.status == "asked":
                    self.asked[key] = event.op
                elif event.status == "answered" and asked == event.op:
                    bound, targets = TAKE_NS + 2 * self.known.healthy_ns, (event.node, f"client-{event.node}")
                    self.given.begin(key, event.t, bound, *targets, settled=SETTLED_NS)
            if held is None or event.f != "lock" or event.status != "asked":
                continue
            last = held.lock_at
            self._check(event, held.since, held.lock_by, f"renews its lock of {queue}")
            if last is not None and event.t < last + LOCK_NS - self.known.healthy_ns:
                early = (event.t - last) // MS
                self.violate(event, f"client {event.process} renews its lock of {queue} after {early} ms", since=last)
            held.lock_at, held.lock_by = event.t, event.t + LOCK_NS

    @only("pull", "commit")
    def on_ok(self, event: Ok) -> None:
        held = self._ended(event)
        if held is None:
            return
        if event.status == MOVED and not held.locks:
            held.stops_pulling(event.t)
        else:
            further = (event.queue_offset or 0) > held.asked
            held.pulls_next(event.t, event.t if further else max(event.t, held.pull_at + REST_NS))
            self._excuse(event.process)

    @only("pull", "commit")
    def on_fail(self, event: Fail | Info) -> None:
        held = self._ended(event)
        if held is not None:
            held.pulls_next(event.t, event.t + RETRY_NS)
            self._excuse(event.process)

    on_info = on_fail

    def _ended(self, event: Ok | Fail | Info) -> Held | None:
        """The queue whose pull ended, if still held. Records the end of a commit, too."""
        held = self.held.get(self._key(event))
        if held is None:
            return None
        if held.commits == event.op and event.f == "commit":
            held.commits = None
            if held.shares and held.pull_from != NEVER:
                # The next round may have found it in flight.
                is_over = event.t < held.commit_from + COMMIT_NS
                held.commit_by = (held.commit_at if is_over else event.t) + COMMIT_NS
                self._excuse(event.process)
        return held if held.pulls == event.op and event.f == "pull" else None

    @staticmethod
    def _key(event: Invoke | Ok | Fail | Info) -> Holding:
        return event.process, event.node == OTHER, event.queue or ""

    def _since(self, process: int, queue: str | None, now: int) -> int:
        """The earliest begin of a client's action that now ends a route request for this queue."""
        began, ended = self.asking.get((process, (queue or "").rpartition("/")[0]), (now, now))
        return began if ended in (None, now) else now

    def _check(self, event: Event, since: int, until: int, does: str, began: int | None = None) -> None:
        if until == NEVER:
            return
        self.judged += 1
        at = event.t if began is None else began
        if at > until + self.known.healthy_ns:
            late = (at - until) // MS
            self.violate(event, f"client {event.process} {does} {late} ms later than it should", since=since)

    def _check_overdue(self, event: Event) -> None:
        late = event.t - self.known.healthy_ns
        self.given.report_missed(event)
        for (process, _, queue), held in self.held.items():
            if held.pull_by >= late and held.commit_by >= late and held.lock_by >= late:
                continue
            for what, by in (("pull", held.pull_by), ("commit", held.commit_by), ("lock", held.lock_by)):
                # A commit may first request the route.
                began = self._since(process, queue, event.t) if what == "commit" else event.t
                if by < late and by + self.known.healthy_ns < began:
                    setattr(held, f"{what}_by", NEVER)
                    text = f"client {process} is {(event.t - by) // MS} ms late with a {what} of {queue}"
                    self.violate(event, text, since=min(held.since, by))

    def _is_not_taken(self, event: Event, key: Holding, due: Deadline) -> None:
        self.judged += 1
        text = f"client {key[0]} got the lock of {key[2]} and has not taken the queue for a second"
        self.violate(event, text, since=due.since)
