"""``queue-paced``: a consumer pulls each queue that it holds, tells its progress and renews its lock, each in its time.

- It begins to pull when it takes a queue. There is one pull of a queue at a time, and none of a queue that it does not
  hold. What brought something further is followed by the next pull at once, what did not 20 ms after it began, what
  failed 3 s after that; who was moved pulls no more, and lets the queue go after 10 s.
- Of a group that shares queues each member tells its progress every 5 s, if nothing of it is under way; who knows no
  master asks for the route first, and tells it when that has ended.
- A member of an orderly group renews its locks every 20 s, not later and not sooner. It takes a queue whose lock it was
  given, or gives the lock back, within a second, where nothing was wrong with the master and the way to it.

Left out: how soon members of orderly groups pull, what they tell, and whether they heed that they were moved, since all
that waits for locks; consumers whose route does not name the broker, or its master, meanwhile; progress that pulls
carry. Not applicable in labs with real time: their clients are the reference's beside any broker, and say nothing of
it.
Source: DefaultMQPushConsumerImpl (PULL_TIME_DELAY_MILLS_WHEN_EXCEPTION, OFFSET_ILLEGAL: 10 s), MQClientInstance
(persistAllConsumerOffset every 5 s), ConsumeMessageOrderlyService (REBALANCE_LOCK_INTERVAL); the rest of 20 ms is that
of the lab's own consumers.
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
from ...topology import OTHER

AGAIN_NS = 3_000 * MS
REST_NS = 20 * MS
FROZEN_NS = 10_000 * MS
COMMIT_NS = 5_000 * MS
LOCK_NS = 20_000 * MS
MOVED = "PULL_OFFSET_MOVED"
TAKEN_NS = 1_000 * MS
"""For two or three calls."""
SETTLED_NS = 5_000 * MS
NEVER = 1 << 62

Place = tuple[int, bool, str]
"""A consumer's process, whether the queue is another broker name's, and the queue."""


class Held:
    """A queue, while one consumer holds it. Times are in ns."""

    __slots__ = (
        "asked", "commit_at", "commit_by", "commit_from", "commits", "lock_at", "lock_by", "locks", "pull_at",
        "pull_by", "pull_from", "pulls", "shares", "since",
    )  # fmt: skip

    def __init__(self, t: int, way: str) -> None:
        self.shares, self.locks = way == "clustering", way == "orderly"
        self.pulls: int | None = None
        """The pull under way; when it began, and what it asked for."""
        self.pull_at, self.asked = t, 0
        self.since = t
        """Since when the next pull has been due."""
        self.pull_from, self.pull_by = t, NEVER if self.locks else t
        self.commits: int | None = None
        self.commit_at = self.commit_from = t
        """When the last one was sent, and when its round began."""
        self.commit_by = t + COMMIT_NS if self.shares else NEVER
        self.lock_at: int | None = None
        self.lock_by = t + LOCK_NS if self.locks else NEVER

    def pulls_next(self, now: int, at: int) -> None:
        """The pull is over; the next one is due at ``at``."""
        self.pulls, self.since, self.pull_from = None, now, at
        self.pull_by = NEVER if self.locks else at

    def freezes(self, now: int) -> None:
        """The pull is over, and there is no next one: it is given up."""
        self.pulls, self.since, self.pull_from, self.pull_by = None, now, NEVER, now + FROZEN_NS
        self.commit_by = NEVER


class QueuePaced(Law):
    id = "queue-paced"
    kind = CONVENTION
    promise = (
        "A consumer pulls each of its queues, once at a time and without a break; it tells its progress every 5 s and "
        "renews its locks every 20 s."
    )
    source = "DefaultMQPushConsumerImpl.pullMessage, MQClientInstance, ConsumeMessageOrderlyService"
    needs = frozenset({"ask", "assign", "invoke", "ok"})
    ignored_nodes = frozenset()
    awaits = {"consumer": EVERY, "assign": EVERY, "ask": EVERY, "lock": EVERY}
    timed = True

    def begin(self) -> None:
        self.ways: dict[int, str] = {}
        """How living consumers consume, by process."""
        self.held: dict[Place, Held] = {}
        self.asked: dict[Place, int] = {}
        """Calls for locks of queues that their members do not hold, by number."""
        self.given = Deadlines[Place](self, self._is_not_taken)
        """Locks of queues that their members have not taken yet."""
        self.routes: dict[int, dict[str | None, dict[str, dict[str, str]]]] = {}
        """By process and topic, the newest last: broker name to id to node."""
        self.asking: dict[tuple[int, str | None], tuple[int, int | None]] = {}
        """By process and topic: since when name servers were asked for its route, one after the other; until when."""

    def on_lab(self, event: Lab) -> None:
        self.applicable = not event.in_real_time

    def on_consumer(self, event: Consumer) -> None:
        self._look(event)
        if event.status == "on":
            self.ways[event.process] = event.f
            return
        self.ways.pop(event.process, None)
        self.routes.pop(event.process, None)
        for table in (self.held, self.given):
            for place in [place for place in table if place[0] == event.process]:
                del table[place]

    def on_assign(self, event: Assign) -> None:
        self._look(event)
        place = event.process, event.node == OTHER, event.queue
        self.given.pop(place, None)
        if event.status == "on":
            self.held[place] = Held(event.t, self.ways.get(event.process, ""))
            self._excuse(event.process)
        else:
            self.held.pop(place, None)

    def on_mark(self, event: Mark) -> None:
        self._look(event)

    def end(self, last: Event) -> None:
        self._look(last)

    def on_ask(self, event: Ask) -> None:
        self._look(event)
        if event.f != "route":
            return
        place = event.process, event.topic
        began, ended = self.asking.get(place, (event.t, event.t))
        if event.status == "asked":
            self.asking[place] = began if ended == event.t else event.t, None
            return
        self.asking[place] = began, event.t
        if event.status == "answered":
            routes = self.routes.setdefault(event.process, {})
            routes.pop(event.topic, None)
            routes[event.topic] = json.loads(event.detail or "{}")
            self._excuse(event.process)

    def _excuse(self, process: int) -> None:
        """Of whom the route does not name a broker, or its master, nothing is due there."""
        named = {name: nodes for route in self.routes.get(process, {}).values() for name, nodes in route.items()}
        known = {node == OTHER for nodes in named.values() for node in nodes.values()}
        masters = {nodes["0"] == OTHER for nodes in named.values() if "0" in nodes}
        for place in [place for place in self.given if place[0] == process and place[1] not in masters]:
            del self.given[place]
        for place, held in self.held.items():
            if place[0] == process and place[1] not in known:
                held.pull_by = NEVER
            if place[0] == process and place[1] not in masters:
                held.commit_by = held.lock_by = NEVER

    # What begins.

    @only("pull", "commit")
    def on_invoke(self, event: Invoke) -> None:
        if event.group is None or event.process not in self.ways:
            return
        held = self.held.get(self._place(event))
        if event.f == "pull":
            self._pulls(event, held)
        elif held is not None and not event.value:
            began = self._since(event.process, event.queue, event.t)
            self._check(event, held.commit_at, held.commit_by, f"tells its progress in {event.queue}", began)
            held.commits, held.commit_at, held.commit_from, held.commit_by = event.op, event.t, began, NEVER

    def _pulls(self, event: Invoke, held: Held | None) -> None:
        self.judged += 1
        who = f"client {event.process} pulls {event.queue}"
        if held is None:
            self.violate(event, f"{who}, which it does not hold", since=None)
            return
        if held.pulls is not None:
            self.violate(event, f"{who} while another pull of it is under way", since=None)
        elif held.pull_from == NEVER:
            self.violate(event, f"{who}, although it was moved away", since=None)
        elif event.t < held.pull_from - self.known.instant_ns:
            self.violate(event, f"{who} {(held.pull_from - event.t) / MS:g} ms too soon", since=None)
        else:
            self._check(event, held.since, held.pull_by, f"pulls {event.queue}")
        held.pulls, held.pull_at, held.asked, held.pull_by = event.op, event.t, event.asked_from or 0, NEVER

    def on_lock(self, event: Lock) -> None:
        self._look(event)
        for queue in json.loads(event.detail):
            place = event.process, event.node == OTHER, queue
            held = self.held.get(place)
            self.given.pop(place, None)
            asked = self.asked.pop(place, None)
            if held is None and event.f == "lock" and event.process in self.ways:
                # A renewal may come to its end when the queue has been given up.
                if event.status == "asked":
                    self.asked[place] = event.op
                elif event.status == "answered" and asked == event.op:
                    bound, ways = TAKEN_NS + 2 * self.known.healthy_ns, (event.node, f"client-{event.node}")
                    self.given.begin(place, event.t, bound, *ways, settled=SETTLED_NS)
            if held is None or event.f != "lock" or event.status != "asked":
                continue
            last = held.lock_at
            self._check(event, held.since, held.lock_by, f"renews its lock of {queue}")
            if last is not None and event.t < last + LOCK_NS - self.known.healthy_ns:
                early = (event.t - last) // MS
                self.violate(event, f"client {event.process} renews its lock of {queue} after {early} ms", since=last)
            held.lock_at, held.lock_by = event.t, event.t + LOCK_NS

    # What ends.

    @only("pull", "commit")
    def on_ok(self, event: Ok) -> None:
        held = self._ended(event)
        if held is None:
            return
        if event.status == MOVED and not held.locks:
            held.freezes(event.t)
        else:
            further = (event.queue_offset or 0) > held.asked
            held.pulls_next(event.t, event.t if further else max(event.t, held.pull_at + REST_NS))
            self._excuse(event.process)

    @only("pull", "commit")
    def on_fail(self, event: Fail | Info) -> None:
        held = self._ended(event)
        if held is not None:
            held.pulls_next(event.t, event.t + AGAIN_NS)
            self._excuse(event.process)

    on_info = on_fail

    def _ended(self, event: Ok | Fail | Info) -> Held | None:
        """The queue whose pull has ended, if its consumer holds it still. Notes the end of a commit besides."""
        held = self.held.get(self._place(event))
        if held is None:
            return None
        if held.commits == event.op and event.f == "commit":
            held.commits = None
            if held.shares and held.pull_from != NEVER:
                # The next round found it under way, perhaps.
                is_over = event.t < held.commit_from + COMMIT_NS
                held.commit_by = (held.commit_at if is_over else event.t) + COMMIT_NS
                self._excuse(event.process)
        return held if held.pulls == event.op and event.f == "pull" else None

    # Too late.

    @staticmethod
    def _place(event: Invoke | Ok | Fail | Info) -> Place:
        return event.process, event.node == OTHER, event.queue or ""

    def _since(self, process: int, queue: str | None, now: int) -> int:
        """When what a client does now with this queue may have begun: with a question for a route that ends now."""
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

    def _look(self, event: Event) -> None:
        """What is overdue."""
        late = event.t - self.known.healthy_ns
        self.given.report_missed(event)
        for (process, _, queue), held in self.held.items():
            for what, by in (("pull", held.pull_by), ("commit", held.commit_by), ("lock", held.lock_by)):
                # It may be asking for the route before it tells its progress.
                began = self._since(process, queue, event.t) if what == "commit" else event.t
                if by < late and by + self.known.healthy_ns < began:
                    setattr(held, f"{what}_by", NEVER)
                    text = f"client {process} owes a {what} of {queue} since {(event.t - by) // MS} ms"
                    self.violate(event, text, since=min(held.since, by))

    def _is_not_taken(self, event: Event, place: Place, due: Deadline) -> None:
        self.judged += 1
        text = f"client {place[0]} was given the lock of {place[2]} and has not taken it for a second"
        self.violate(event, text, since=due.since)
