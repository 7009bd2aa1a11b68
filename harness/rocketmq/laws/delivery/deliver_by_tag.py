"""``deliver-by-tag``: a pull by tags brings all messages with one of the tags, and only these.

Checks:
- Each message was sent with one of the tags. Brokers compare hashes, so a plain reader may also get another tag with
  the same hash. Consumers filter those out.
- A pull brings every message of the master's final audit with one of the tags, between the offset asked for and the
  next offset of the answer.
Abstains when:
- The sender's tags are not recorded.
- For the second check: the answer is an error, a log lost something, or the broker has another name.
- For the second check: the consumer gave the queue up, or took it again, before the answer.
Source: ConsumeQueue tagsCode, DefaultMessageFilter, DefaultMessageStore.getMessage, PullAPIWrapper.processPullResult.
"""

from typing import NamedTuple

from ....event_types.client import Deliver, Ok
from ....history import Event
from ....judging.law import EVERY, EventFilter, only
from ....texts.content import payload
from ...known.consumed import subscribed
from ...known.consumption import PAIR
from ...law import Law
from ...topology import MASTER
from .pulled import FOUND, READS, RETRY

ANSWERED = frozenset({FOUND, RETRY})


class Answer(NamedTuple):
    ok: Ok
    wanted: frozenset[str]
    asked_from: int
    brought: frozenset[int]
    """Queue offsets."""


class DeliverByTag(Law):
    needs = frozenset({"invoke", "ok", "deliver", "record", "audit"})
    awaits = {"invoke": EventFilter(frozenset({"select"})), "consumer": EVERY}

    def begin(self) -> None:
        self.done: list[Answer] = []

    def on_deliver(self, event: Deliver) -> None:
        begun, tag = self.known.calls.begun(event), self.known.sent.tag(event.message)
        wanted = None if begun is None else subscribed(begun.call.detail)
        if tag is not None and wanted is not None:
            self.judged += 1
            is_hash = event.group is None and tag and java_hash(tag) in map(java_hash, wanted)
            if tag not in wanted and not is_hash:
                what = f"{event.message}, which was sent {f'with {tag}' if tag else 'without a tag'}"
                self.violate(event, f"{event.node}, asked for {' or '.join(sorted(wanted))}, delivered {what}")

    @only(*READS)
    def on_ok(self, event: Ok) -> None:
        begun = self.known.calls.begun(event)
        wanted = None if begun is None else subscribed(begun.call.detail)
        if begun is None or wanted is None or event.status not in ANSWERED or event.node not in PAIR:
            return
        held = self.known.consumption.assignments.get((event.process, event.queue or ""))
        if event.group is None or (held is not None and held.since <= begun.call.t):
            brought = frozenset(each.queue_offset for each in begun.brought)
            self.done.append(Answer(event, wanted, begun.call.asked_from or 0, brought))

    def end(self, last: Event) -> None:
        listing = self.known.audits.last.get(MASTER)
        if listing is None or not self.known.stores.lost.isdisjoint(PAIR) or self.known.logs.divergences:
            return
        for ok, wanted, asked_from, brought in self.done:
            reach = range(asked_from, ok.queue_offset or 0)
            for each in listing.of(ok.queue):
                if each.queue_offset in reach and payload(each.detail).get("tags") in wanted:
                    self.judged += 1
                    if each.queue_offset not in brought:
                        where = f"{each.message} at {each.queue_offset} of {each.queue}"
                        self.violate(ok, f"{ok.node} went on at {ok.queue_offset} without {where}")


def java_hash(text: str) -> int:
    """Java's hash of an ASCII string, unsigned."""
    found = 0
    for each in text.encode():
        found = (31 * found + each) & 0xFFFF_FFFF
    return found
