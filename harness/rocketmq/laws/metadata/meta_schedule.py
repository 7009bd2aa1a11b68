"""``meta-schedule``: a slave fetches topics, consumer offsets, delay offsets and groups, in this order, on schedule.

Of each life of a slave that knows its master (by the name server's answers to its registrations in this life; an answer
without a master ends that, a registration that failed does not):

- steps come one at a time and in order, and a round goes on to its last step whatever becomes of the others; each step
  begins within 3 s of the end of the one before (its connection has to stand), and ends within 3 s of being asked;
- the first round begins not before the version's first time, and no later than that, or than a period after the
  slave learned of its master (of a broker that does not say when it started: after half of that time); another one
  follows within a period of the last one's end, but no sooner than a period after its beginning. Each may be late by
  what a connection takes, 3 s, and by one look of a slave of 5.x.

A node that is no slave syncs nothing. All times are extended by what the slave stood still.

Left out: when the first round begins of a broker that does not say when it started; whether a round comes too soon
after one that took longer than the period, after a pause, or, on 5.x, after the slave was told of a master anew; a
round that an answer without a master broke off. Source: BrokerController.handleSlaveSynchronize,
SlaveSynchronize.syncAll.
"""

from ....event_types.node import UNKNOWN, Crash, Start, Stop
from ....history import MS, Event
from ....judging.law import CONVENTION
from ...event_types.metadata import Register, Sync
from ...known.deadlines import is_late, spent_ns
from ...known.metadata import SLACK_NS, STEPS, TOPICS, registration_answer
from .syncing import CALL_NS, MetadataLaw, Schedule, schedule


class Incarnation:
    """What one process of a slave has synced."""

    __slots__ = ("asked", "began", "free", "is_told", "knew_master", "last", "regular", "schedule", "started", "step")

    def __init__(self, started: int, known_schedule: Schedule, is_told: bool) -> None:
        """``is_told``: whether the broker itself said when it started; else that was no later than ``started``."""
        self.is_told = is_told
        self.schedule = known_schedule
        self.started = started
        self.knew_master: int | None = None
        """Since when it has known its master, ns."""
        self.step = 0
        """The index of the step that is under way, or comes next."""
        self.free = True
        """Whether the round may have ended where it is: nobody says so when the master is no longer known."""
        self.asked = False
        """Whether its request has left."""
        self.began: int | None = None
        """When the last round began, ns."""
        self.last = started
        """When anything of a sync happened last, ns."""
        self.regular = True
        """Whether nothing has shifted its rounds."""


class MetaSchedule(MetadataLaw):
    id = "meta-schedule"
    kind = CONVENTION
    promise = (
        "A slave fetches topics, consumer offsets, delay offsets and groups, in this order, at its version's delay and "
        "period; one that fails does not stop the others."
    )
    source = "BrokerController.handleSlaveSynchronize: scheduleAtFixedRate; SlaveSynchronize.syncAll"
    needs = frozenset({"config", "start", "sync", "register"})
    timed = True

    def begin(self) -> None:
        super().begin()
        self.lives: dict[str, Incarnation] = {}

    # A slave's life.

    def on_start(self, event: Start) -> None:
        settings = self.slaves.get(event.node)
        if settings is not None:
            self.lives[event.node] = Incarnation(event.t, schedule(settings), event.f != UNKNOWN)

    def on_register(self, event: Register) -> None:
        """A name server says where the master is, or that it does not know."""
        node = event.node
        life = self.lives.get(node)
        if life is None or event.status != "ok":
            return
        if not registration_answer(event).get("master"):
            self._judge_silence(node, life, event)
            life.knew_master, life.free = None, True
        elif life.knew_master is None:
            life.knew_master = event.t
            if life.schedule.look and life.began is not None:
                life.regular = False

    def on_crash(self, event: Crash | Stop) -> None:
        life = self.lives.pop(event.node, None)
        if life is not None:
            self._judge_silence(event.node, life, event)

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for node, life in self.lives.items():
            self._judge_silence(node, life, last)

    # Its syncs.

    def on_sync(self, event: Sync) -> None:
        node = event.node
        life = self.lives.get(node)
        if life is None:
            if node in self.known.config and node not in self.slaves:
                self.violate(event, f"{node} syncs {event.f}, but is not a slave that knows a name server", since=None)
            return
        if event.status == "asked" or not life.asked:
            self._begin(node, life, event)
        if event.status != "asked":
            self._end(node, life, event)
        life.last = event.t

    def _begin(self, node: str, life: Incarnation, event: Sync) -> None:
        step = STEPS[life.step]
        if life.asked:
            self.violate(event, f"{node} asks for {event.f} while {step} are still under way", since=None)
        elif event.f != step:
            if event.f != TOPICS or not life.free:
                self.violate(event, f"{node} goes on with {event.f} where {step} come next", since=None)
        elif life.step and not life.free:
            self._judge_pause(node, life, event, f"before it went on with {step}")
        if event.f == TOPICS:
            self._judge_round(node, life, event)
            life.free = life.knew_master is None
        life.step = STEPS.index(event.f or TOPICS)
        life.asked = True
        life.last = event.t

    def _end(self, node: str, life: Incarnation, event: Sync) -> None:
        if STEPS[life.step] != event.f:
            self.violate(event, f"{node} ends {event.f}, and {STEPS[life.step]} are under way", since=None)
        self._judge_pause(node, life, event, f"with {event.f}")
        self.judged += 1
        life.asked = False
        life.step = (STEPS.index(event.f or TOPICS) + 1) % len(STEPS)
        if not life.step and life.began is not None and event.t - life.began > life.schedule.period * MS:
            life.regular = False

    # When.

    def _judge_pause(self, node: str, life: Incarnation, event: Event, where: str) -> None:
        took = spent_ns(self.known, node, life.last, event.t)
        if took > CALL_NS + self._slack():
            self.violate(event, f"{node} let {took / MS:.0f} ms pass {where}; 3000 ms are enough", since=life.last)

    def _judge_round(self, node: str, life: Incarnation, event: Event) -> None:
        self._judge_silence(node, life, event)
        plan = life.schedule
        if self.known.disturbances.unavailable_ns(node, life.started, event.t):
            life.regular = False
        if life.began is None:
            since = life.started
            early = life.is_told and event.t - since < plan.first * MS - SLACK_NS
            what = f"{(event.t - life.started) / MS:.0f} ms after its start; {plan.first} ms are to pass"
        else:
            since = life.began
            early = life.regular and event.t - since < plan.period * MS - CALL_NS - self._slack()
            what = f"{(event.t - life.began) / MS:.0f} ms after the one before; a period has {plan.period} ms"
        self.judged += 1
        if early:
            self.violate(event, f"{node} began a round {what}", since=since)
        life.began = event.t

    def _judge_silence(self, node: str, life: Incarnation, event: Event) -> None:
        """Whether something should have happened before now."""
        if life.knew_master is None:
            return
        plan, first = life.schedule, life.started + life.schedule.first * MS
        if not life.free and (life.step or life.asked):
            if event.kind != "sync":
                self._judge_pause(node, life, event, f"with {STEPS[life.step]}")
            return
        # Where nobody says when the broker started, its first look may have come before it knew its master.
        told_by = first if life.is_told else life.started + plan.first * MS // 2
        if life.began is None and life.knew_master < told_by:
            due = first
        else:
            due = max(life.last, life.knew_master) + plan.period * MS
        due += plan.look * MS + CALL_NS + self._slack()
        if is_late(self.known, node, life.started, event.t, due - life.started):
            since = max(life.last, life.knew_master)
            what = f"{node} synced nothing for {(event.t - since) / MS:.0f} ms, and knew its master"
            self.violate(event, what, since=since)

    def _slack(self) -> int:
        return SLACK_NS + self.known.healthy_ns
