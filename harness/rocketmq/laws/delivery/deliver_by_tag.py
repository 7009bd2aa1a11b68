"""``deliver-by-tag``: a pull by tags brings the messages that have one of the tags: only these, and all of them.

Every message that it brings was sent with one of the tags; a broker compares hashes, so that what a plain reader is
given may also have another tag with the same hash. Consumers leave such a message out: what they hand to their
application has one of the group's tags. And between where it asked from and where its answer says to go on a pull
brings every message of the queue that has one: what the master's last audit lists there is compared.

The second half is judged of answers that say that they found or matched something, or nothing; and only in trials in
which no log lost anything, since a queue offset may have had another message before. Left out: messages whose senders
did not say what they sent; in the second half brokers of another name, and consumers that no longer held the queue, as
they had taken it, when the answer came. Source: ConsumeQueue tagsCode, DefaultMessageFilter,
DefaultMessageStore.getMessage, PullAPIWrapper.processPullResult.
"""

from typing import NamedTuple

from pairproof.harness.content import told
from pairproof.harness.history import Event
from pairproof.harness.kinds.client import SENDS, Deliver, Fail, Info, Invoke, Ok
from pairproof.harness.kinds.node import Crash, Wipe
from pairproof.harness.rocketmq.kinds.log import Audit, Cut, Expire, Record
from pairproof.harness.rocketmq.known.consumed import Assignment, subscribed
from pairproof.harness.rocketmq.known.consumption import PAIR
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.laws.delivery.pulled import FOUND, READS, RETRY
from pairproof.harness.rocketmq.places import MASTER

ANSWERED = frozenset({FOUND, RETRY})
"""It found something, or nothing matched."""


class Asked(NamedTuple):
    """A pull by tags under way."""

    call: Invoke
    wanted: frozenset[str]
    held: Assignment | None
    """Of a consumer: how it has the queue."""


class DeliverByTag(Law):
    id = "deliver-by-tag"
    promise = "A pull by tags brings only messages that have one of the tags, and all of them."
    source = "DefaultMessageStore.getMessage; ConsumeQueue tagsCode"
    needs = frozenset({"invoke", "ok", "deliver", "record", "audit"})

    def begin(self) -> None:
        self.tags: dict[str | None, str | None] = {}
        """By message that was sent, its tag; empty without one, None where nobody said."""
        self.asked: dict[int | None, Asked] = {}
        self.brought: dict[int | None, set[int | None]] = {}
        """By pull, the queue offsets of what it has brought."""
        self.done: list[Ok] = []
        self.listing: list[Record] = []
        self.listed: list[Record] = []
        self.lost = False

    def on_invoke(self, event: Invoke) -> None:
        if event.f in SENDS:
            said = told(event.detail)
            self.tags[event.message] = said.get("tags", "") if said else None
        elif event.f in READS:
            wanted = subscribed(event.detail)
            if wanted is not None:
                self.asked[event.op] = Asked(event, wanted, self._held(event))
                self.brought[event.op] = set()

    def _held(self, event: Invoke | Ok) -> Assignment | None:
        return self.known.consumption.assignments.get((event.process, event.queue or ""))

    def on_deliver(self, event: Deliver) -> None:
        if event.op not in self.asked:
            return
        self.brought[event.op].add(event.queue_offset)
        tag, wanted = self.tags.get(event.message), self.asked[event.op].wanted
        if tag is not None:
            self.judged += 1
            is_hash = event.group is None and tag and _hash(tag) in map(_hash, wanted)
            if tag not in wanted and not is_hash:
                what = f"{event.message}, which was sent {f'with {tag}' if tag else 'without a tag'}"
                self.violate(event, f"{event.node}, asked for {' or '.join(sorted(wanted))}, delivered {what}")

    def on_ok(self, event: Ok) -> None:
        asked = self.asked.get(event.op)
        if asked is None or event.status not in ANSWERED or event.node not in PAIR:
            return
        if event.group is None or (asked.held is not None and asked.held is self._held(event)):
            self.done.append(event)

    def on_fail(self, event: Fail | Info) -> None:
        self.asked.pop(event.op, None)

    on_info = on_fail

    def on_record(self, event: Record) -> None:
        if event.node == MASTER:
            self.listing.append(event)

    def on_audit(self, event: Audit) -> None:
        if event.node == MASTER and event.f != "compare":
            self.listed, self.listing = self.listing, []

    def on_crash(self, event: Crash) -> None:
        self.lost = self.lost or event.f == "machine"

    def on_wipe(self, event: Wipe | Cut | Expire) -> None:
        self.lost = True

    on_cut = on_expire = on_wipe

    def end(self, last: Event) -> None:
        for answer in () if self.lost or self.known.logs.divergences else self.done:
            asked, wanted, _ = self.asked[answer.op]
            reach = range(asked.asked_from or 0, answer.queue_offset or 0)
            for each in self.listed:
                if each.queue == asked.queue and each.queue_offset in reach and told(each.detail).get("tags") in wanted:
                    self.judged += 1
                    if each.queue_offset not in self.brought[answer.op]:
                        where = f"{each.message} at {each.queue_offset} of {each.queue}"
                        self.violate(answer, f"{answer.node} went on at {answer.queue_offset} without {where}")


def _hash(tag: str) -> int:
    """As Java has it of ASCII, without its sign."""
    found = 0
    for each in tag.encode():
        found = (31 * found + each) & 0xFFFF_FFFF
    return found
