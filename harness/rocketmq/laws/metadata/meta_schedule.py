"""``meta-schedule``: a slave fetches topics, consumer offsets, delay offsets and groups, in this order, at its
version's delay and period. A failed step does not stop the others.

An incarnation of a slave has a known master from a name server's answer with one to its registration, until an answer
without one. A failed registration changes nothing. All times are extended by the slave's pauses.

Checks:
- Steps come one at a time and in order, and a round continues to its last step, even after failed steps.
- Each step begins within 3 s of the last step's end (for its connection) and ends within 3 s of its request.
- The first round begins no earlier than the version's first time after the start. If the master was known then (or at
  half of that time, if the start is not recorded), it begins no later either. Else it begins within a period of that.
- Another round follows within a period of the last one's end, and no sooner than a period after its begin. 3 s for a
  connection and one check interval of a 5.x slave are allowed on top.
- Other nodes sync nothing.
Abstains when:
- For an early first round: the broker's start is not recorded.
- For another early round: the last one took longer than the period, or followed a pause; on 5.x, the master was learned
  again.
- An answer without a master broke the round off.
Source: BrokerController.handleSlaveSynchronize (scheduleAtFixedRate), SlaveSynchronize.syncAll.
"""

from ....event_types.node import UNKNOWN, Crash, Start, Stop
from ....history import MS, Event
from ....judging.law import CONVENTION
from ...event_types.metadata import Register, Sync
from ...known.deadlines import is_late, spent_ns
from ...known.metadata import SLACK_NS, STEPS, TOPICS, registration_answer
from .syncing import CALL_NS, MetadataLaw, Schedule, schedule


class Incarnation:
    __slots__ = ("asked", "began", "free", "is_exact", "knew_master", "last", "regular", "schedule", "started", "step")

    def __init__(self, started: int, known_schedule: Schedule, is_exact: bool) -> None:
        """``is_exact``: whether the start is recorded; else it was at or before ``started``."""
        self.is_exact = is_exact
        self.schedule = known_schedule
        self.started = started
        self.knew_master: int | None = None
        """Since when it has known its master, ns."""
        self.step = 0
        """The index of the present or next step."""
        self.free = True
        """Whether the round may have ended, since the master was unknown."""
        self.asked = False
        self.began: int | None = None
        self.last = started
        self.regular = True
        """Whether no delay has shifted the rounds."""


class MetaSchedule(MetadataLaw):
    kind = CONVENTION
    needs = frozenset({"config", "start", "sync", "register"})
    timed = True

    def begin(self) -> None:
        self.incarnations: dict[str, Incarnation] = {}

    # Incarnations.

    def on_start(self, event: Start) -> None:
        settings = self.slaves.get(event.node)
        if settings is not None:
            self.incarnations[event.node] = Incarnation(event.t, schedule(settings), event.f != UNKNOWN)

    def on_register(self, event: Register) -> None:
        node = event.node
        slave = self.incarnations.get(node)
        if slave is None or event.status != "ok":
            return
        if not registration_answer(event).get("master"):
            self._judge_overdue(node, slave, event)
            slave.knew_master, slave.free = None, True
        elif slave.knew_master is None:
            slave.knew_master = event.t
            if slave.schedule.look and slave.began is not None:
                slave.regular = False

    def on_crash(self, event: Crash | Stop) -> None:
        slave = self.incarnations.pop(event.node, None)
        if slave is not None:
            self._judge_overdue(event.node, slave, event)

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for node, slave in self.incarnations.items():
            self._judge_overdue(node, slave, last)

    # Syncs.

    def on_sync(self, event: Sync) -> None:
        node = event.node
        slave = self.incarnations.get(node)
        if slave is None:
            if node in self.known.config and node not in self.slaves:
                self.violate(event, f"{node} syncs {event.f}, but is not a slave that knows a name server", since=None)
            return
        if event.status == "asked" or not slave.asked:
            self._begin(node, slave, event)
        if event.status != "asked":
            self._end(node, slave, event)
        slave.last = event.t

    def _begin(self, node: str, slave: Incarnation, event: Sync) -> None:
        step = STEPS[slave.step]
        if slave.asked:
            self.violate(event, f"{node} asks for {event.f} while {step} are still under way", since=None)
        elif event.f != step:
            if event.f != TOPICS or not slave.free:
                self.violate(event, f"{node} goes on with {event.f} where {step} come next", since=None)
        elif slave.step and not slave.free:
            self._judge_pause(node, slave, event, f"before it went on with {step}")
        if event.f == TOPICS:
            self._judge_round(node, slave, event)
            slave.free = slave.knew_master is None
        slave.step = STEPS.index(event.f or TOPICS)
        slave.asked = True
        slave.last = event.t

    def _end(self, node: str, slave: Incarnation, event: Sync) -> None:
        if STEPS[slave.step] != event.f:
            self.violate(event, f"{node} ends {event.f}, and {STEPS[slave.step]} are under way", since=None)
        self._judge_pause(node, slave, event, f"with {event.f}")
        self.judged += 1
        slave.asked = False
        slave.step = (STEPS.index(event.f or TOPICS) + 1) % len(STEPS)
        if not slave.step and slave.began is not None and event.t - slave.began > slave.schedule.period * MS:
            slave.regular = False

    # Times.

    def _judge_pause(self, node: str, slave: Incarnation, event: Event, where: str) -> None:
        took = spent_ns(self.known, node, slave.last, event.t)
        if took > CALL_NS + self._slack():
            self.violate(event, f"{node} let {took / MS:.0f} ms pass {where}; 3000 ms are enough", since=slave.last)

    def _judge_round(self, node: str, slave: Incarnation, event: Event) -> None:
        self._judge_overdue(node, slave, event)
        plan = slave.schedule
        if self.known.disturbances.unavailable_ns(node, slave.started, event.t):
            slave.regular = False
        if slave.began is None:
            since = slave.started
            early = slave.is_exact and event.t - since < plan.first * MS - SLACK_NS
            what = f"{(event.t - slave.started) / MS:.0f} ms after its start; {plan.first} ms are to pass"
        else:
            since = slave.began
            early = slave.regular and event.t - since < plan.period * MS - CALL_NS - self._slack()
            what = f"{(event.t - slave.began) / MS:.0f} ms after the one before; a period has {plan.period} ms"
        self.judged += 1
        if early:
            self.violate(event, f"{node} began a round {what}", since=since)
        slave.began = event.t

    def _judge_overdue(self, node: str, slave: Incarnation, event: Event) -> None:
        if slave.knew_master is None:
            return
        plan, first = slave.schedule, slave.started + slave.schedule.first * MS
        if not slave.free and (slave.step or slave.asked):
            if event.kind != "sync":
                self._judge_pause(node, slave, event, f"with {STEPS[slave.step]}")
            return
        # If the start is not recorded, the first check may have been before the slave knew its master.
        in_time = first if slave.is_exact else slave.started + plan.first * MS // 2
        if slave.began is None and slave.knew_master < in_time:
            due = first
        else:
            due = max(slave.last, slave.knew_master) + plan.period * MS
        due += plan.look * MS + CALL_NS + self._slack()
        if is_late(self.known, node, slave.started, event.t, due - slave.started):
            since = max(slave.last, slave.knew_master)
            what = f"{node} synced nothing for {(event.t - since) / MS:.0f} ms, and knew its master"
            self.violate(event, what, since=since)

    def _slack(self) -> int:
        return SLACK_NS + self.known.healthy_ns
