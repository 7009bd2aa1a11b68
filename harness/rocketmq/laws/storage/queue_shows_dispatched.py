"""``queue-shows-dispatched``: a broker's readers see only what it has dispatched.

A message that is stored and not in its queue yet is not there for readers. So no message that a pull delivers ends
behind the point up to which its broker has dispatched, by its own trace; nor does the last message before the queue's
end, as the pull's answer tells that, where a sender was told which message has this offset.

Judged for pulls that begin and end in one life of their broker; what its log held at the start it has dispatched. A
broker may answer a pull that waits for a message a moment before it says that it has dispatched the message. Left out:
diverged slaves (see ``logs``), whose log is no copy; delayed messages, whose senders are told an offset of
another queue. How soon a message is dispatched, see ``queue-whole-records``.
Source: DefaultMessageStore.ReputMessageService, getMessage and getMaxOffsetInQueue.
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

Place = tuple[str | None, int]
"""Queue and queue offset."""


class Early(NamedTuple):
    """A message that was seen before its broker said that it had dispatched it, and what was seen."""

    seen: Event
    hi: int
    what: str
    incarnation: int
    steps: int
    """How often the broker had said how far it was, and in which incarnation: how many had ended."""


class QueueShowsDispatched(Law):
    id = "queue-shows-dispatched"
    promise = "A pull shows and delivers only messages that its broker has dispatched."
    source = "DefaultMessageStore: readers see the consume queues"
    needs = frozenset({"start", "dispatch", "invoke", "ok", "deliver"})
    timed = True

    def begin(self) -> None:
        self.ends: dict[Place, int | None] = {}
        """Where the message with a queue offset ends in the log, as its sender was told; None where two were told."""
        self.early: list[Early] = []

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        if event.hi is not None:
            self.ends = {place: hi for place, hi in self.ends.items() if hi is None or hi <= event.hi}

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        """Another store may have other messages at the same offsets."""
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
                self._check(event, hi, f"{event.node} says that {event.queue} goes up to {event.hi - 1}")

    def _is_current(self, event: Deliver | Ok) -> bool:
        call = self.known.calls.begun(event)
        return call is not None and call.call.f == "pull" and not self.abstains(event, EARLIER_INCARNATION)

    def _learn(self, event: Ok) -> None:
        call = self.known.calls.begun(event)
        if event.queue_offset is None or event.hi is None or call is None or event.node != MASTER:
            return
        if waits_first(call.call) or self.abstains(event, EARLIER_INCARNATION):
            return
        place = event.queue, event.queue_offset
        if self.ends.setdefault(place, event.hi) != event.hi:
            self.ends[place] = None

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
        """A broker said next how far it had come, or was gone: what it showed a moment ago may stand."""
        for each in self.early:
            seen, node = each.seen, each.seen.node or ""
            following = self.known.dispatched.steps.get((node, each.incarnation), [])[each.steps : each.steps + 1]
            ended = self.known.nodes.end_of(node, each.incarnation)
            until = following[0].since if following else ended
            stands = until is not None and is_instant(self.known, node, seen.t, until)
            if not stands or (following and following[0].upto < each.hi):
                self.violate(seen, each.what, since=seen.t, until=seen.t if until is None else until)
