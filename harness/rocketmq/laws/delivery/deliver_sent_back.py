"""``deliver-sent-back``: a message that a consumer sent back comes again to its group, after its delay and in time.

Checks:
- Each delivery from a retry topic is of a message that was sent back so often, after the delay of its level.
- A message that the master took back comes again within its delay and 60 s, if a member runs all the time. Judged at
  the trial's end, if nothing was disturbed in the 150 s before that deadline.
Abstains when:
- A member may read only from a slave, by its user's choice, or from one that serves no reads, or the slaves do not
  converge.
- The message was ready when a slave moved its group on: the slave's queue begins later.
- For the times: the master's clock was set.
- The master lost a part of its log.
- An administrator may have left the group no retry queue when the message was sent back, or keeps it from consuming.
  After other changes the group has 150 s.
Source: AbstractSendMessageProcessor.consumerSendMsgBack, DefaultMQPushConsumerImpl.copySubscription (a consumer's own
subscription of its retry topic).
"""

from ....event_types.client import Deliver, Ok
from ....event_types.machine import Mark
from ....history import MS, Event
from ....judging.law import only
from ...event_types.groups import Back
from ...known.metadata import RETRY
from ...known.sent import Request
from ...topology import MASTER, NO_SLAVES
from .sent_back import SentBack

COMES_NS = 60_000 * MS
"""A group rebalances every 20 s, a consumer asks for a route every 30 s."""
MOVED = "PULL_OFFSET_MOVED"
AFTER_NS = 150_000 * MS
"""A dead member expires after 120 s."""

Retry = tuple[str | None, str | None, int]
"""A group, a message, and how often it was sent back."""


class DeliverSentBack(SentBack):
    needs = frozenset({"config", "back", "start", "deliver", "consumer", "mark"})
    timed = True

    def begin(self) -> None:
        self.came: dict[Retry, int] = {}
        """The first delivery, ns."""
        self.moved: dict[str | None, int] = {}
        """By group: when a slave last moved it on in a retry topic, ns."""

    @property
    def is_clock_set(self) -> bool:
        return MASTER in self.known.clocks

    @only("pull", but=NO_SLAVES)
    def on_ok(self, event: Ok) -> None:
        if event.status == MOVED and (event.queue or "").startswith(RETRY):
            self.moved[event.group] = event.t

    def on_deliver(self, event: Deliver) -> None:
        if event.group is None or not event.queue.startswith(RETRY) or self.excused:
            return
        retry = (event.group, event.message, event.times or 0)
        self.came.setdefault(retry, event.t)
        asked = [back for back in self.asked if _retry(back) == retry and self._level_of(back)]
        self.judged += 1
        what = f"{event.message} came to {event.group} from {event.queue}, sent back {retry[2]} times"
        if not asked:
            self.violate(event, f"{what}; nobody sent it back so often", since=None)
            return
        early = min(each.event.t + self.delay_ns(self._level_of(each)) for each in asked)
        # The broker counts from the millisecond in which it stored the message.
        if early - event.t > MS and not self.is_clock_set:
            self.violate(event, f"{what}, {(early - event.t) / MS:.0f} ms before its delay has passed", since=None)

    @only("end")
    def on_mark(self, event: Mark) -> None:
        known = self.known
        if self.excused or "unsettled" in known.milestones or known.disturbances.active or MASTER not in known.up:
            return
        disturbed = max(0, known.disturbed_at())
        for back in self.asked:
            level = self._level_of(back)
            if back.taken is None or not level or _retry(back) in self.came:
                continue
            ready = back.taken + self.delay_ns(level)
            if self.moved.get(back.event.group, -1) < ready and not self.has_no_retries(back):
                blocked = self._held_back_until(back.event.group or "", event.t)
                self._judge_absent(event, back, max(ready + COMES_NS, disturbed + AFTER_NS, blocked + AFTER_NS))

    def _held_back_until(self, group: str, now: int) -> int:
        """Until when administrators may have kept the group from its retry topic, or from seeing a larger one, ns."""
        return self.known.tables.held_back_until(f"{RETRY}{group}/0", group, now)

    def _judge_absent(self, end: Event, back: Request[Back], deadline: int) -> None:
        group, message, times = _retry(back)
        members = [each for each in self.known.consumption.consumers.values() if each.group == group]
        refused = self.known.consumption.may_be_refused
        is_live = any(not each.fixed and not refused(each) and each.since < deadline - COMES_NS for each in members)
        if is_live and deadline < end.t and not self.is_clock_set:
            self.judged += 1
            text = f"{message} never came to {group} for time {times}; the master took it back"
            queues = max(each.retryQueueNums for each in self.known.tables.groups(MASTER, group or "", 0))
            if queues > 1:
                text += f"; an administrator gave the group {queues} retry queues"
            self.violate(end._replace(message=message), text, since=deadline - COMES_NS)

    def _level_of(self, back: Request[Back]) -> int:
        return self.level_of(back, int(back.said.get("times", 0)))


def _retry(back: Request[Back]) -> Retry:
    return back.event.group, back.event.message, int(back.said.get("times", 0)) + 1
