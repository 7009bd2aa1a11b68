"""``queue-shows-dispatched``: a pull shows and delivers only messages that its broker has dispatched.

Checks:
- No delivered message ends behind the broker's dispatched offset, by its trace. The same holds for the last message
  before the queue's end in the pull's answer, if a send's answer reported this message's offset.
- At its start a broker has dispatched its whole log. It may answer a waiting pull a moment before the trace shows the
  dispatch.
Abstains when:
- The pull does not begin and end in one incarnation of its broker.
- The slave diverged (see ``logs``).
- For the queue's end: the message is a delayed one, whose answer names another queue's offset.
Source: DefaultMessageStore.ReputMessageService, getMessage and getMaxOffsetInQueue: readers see the consume queues.
"""

from typing import NamedTuple

from ....event_types.client import Deliver, Ok
from ....event_types.node import Start, Wipe
from ....history import Event
from ....judging.law import only
from ....texts.content import waits_first
from ...known.circumstances import DIVERGED, EARLIER_INCARNATION
from ...known.deadlines import is_instant
from ...law import Law
from ...topology import MASTER

Position = tuple[str | None, int]


class Early(NamedTuple):
    """A message that a pull showed before the trace of its dispatch."""

    seen: Event
    hi: int
    what: str
    incarnation: int
    """The number of the broker's ended incarnations."""
    steps: int
    """The number of dispatch events in this incarnation."""


class QueueShowsDispatched(Law):
    needs = frozenset({"start", "dispatch", "invoke", "ok", "deliver"})
    timed = True

    def begin(self) -> None:
        self.ends: dict[Position, int | None] = {}
        """By queue offset: the message's end in the log, as answered; None after two different answers."""
        self.early: list[Early] = []

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        if event.hi is not None:
            self.ends = {position: hi for position, hi in self.ends.items() if hi is None or hi <= event.hi}

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        """The new store may have other messages at these offsets."""
        self.ends = dict.fromkeys(self.ends)

    def on_deliver(self, event: Deliver) -> None:
        if event.hi is not None and self._is_current(event):
            self._check(event, event.hi, f"{event.node} delivered {event.message}")

    @only("send", "pull")
    def on_ok(self, event: Ok) -> None:
        if event.f == "send":
            self._learn(event)
        elif event.hi and self._is_current(event):
            hi = self.ends.get((event.queue, event.hi - 1))
            if hi is not None:
                self._check(event, hi, f"{event.node} shows {event.queue} up to offset {event.hi - 1}")

    def _is_current(self, event: Deliver | Ok) -> bool:
        call = self.known.calls.begun(event)
        return call is not None and call.call.f == "pull" and not self.abstains(event, EARLIER_INCARNATION)

    def _learn(self, event: Ok) -> None:
        call = self.known.calls.begun(event)
        if event.queue_offset is None or event.hi is None or call is None or event.node != MASTER:
            return
        if waits_first(call.call) or self.abstains(event, EARLIER_INCARNATION):
            return
        position = event.queue, event.queue_offset
        if self.ends.setdefault(position, event.hi) != event.hi:
            self.ends[position] = None

    def _check(self, event: Deliver | Ok, hi: int, what: str) -> None:
        node, dispatched = event.node, self.known.dispatched
        reached = dispatched.shown(node)
        if reached is None or self.abstains(event, DIVERGED):
            return
        self.judged += 1
        if hi > reached:
            what = f"{what}, which ends at {hi} of its log; it had dispatched up to {reached}"
            incarnation, steps = self.known.nodes.ended(node), len(dispatched.present(node))
            self.early.append(Early(event, hi, what, incarnation, steps))

    def end(self, last: Event) -> None:
        """Accept a message if the next dispatch event, or the broker's end, follows in a moment."""
        for each in self.early:
            seen, node = each.seen, each.seen.node or ""
            following = self.known.dispatched.steps.get((node, each.incarnation), [])[each.steps : each.steps + 1]
            ended = self.known.nodes.end_of(node, each.incarnation)
            until = following[0].since if following else ended
            is_accepted = until is not None and is_instant(self.known, node, seen.t, until)
            if not is_accepted or (following and following[0].upto < each.hi):
                self.violate(seen, each.what, since=seen.t, until=seen.t if until is None else until)
