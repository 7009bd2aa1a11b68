"""``deliver-by-tag``: a pull by tags brings the messages that have one of the tags: only these, and all of them.

Every message that it brings was sent with one of the tags. And between where it asked from and where its answer says to
go on it brings every message of the queue that has one: what the master's last audit lists there is compared.

The second half is judged of answers that say that they found or matched something, or nothing; and only in trials in
which no log lost anything, since a queue offset may have had another message before. Left out: consumers, which take
all tags; messages whose senders did not say what they sent. Two tags with one hash would be confused; the tags that are
sent have different ones. Source: ConsumeQueue tagsCode, DefaultMessageFilter, DefaultMessageStore.getMessage.
"""

from pairproof.harness.content import told
from pairproof.harness.history import Event
from pairproof.harness.kinds.client import Deliver, Fail, Info, Invoke, Ok
from pairproof.harness.kinds.node import Crash, Wipe
from pairproof.harness.rocketmq.kinds.log import Audit, Cut, Expire, Record
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER

ANSWERED = frozenset({"PUT_OK", "PULL_RETRY_IMMEDIATELY"})
"""Code 0, and that nothing matched."""


class DeliverByTag(Law):
    id = "deliver-by-tag"
    promise = "A pull by tags brings only messages that have one of the tags, and all of them."
    source = "DefaultMessageStore.getMessage; ConsumeQueue tagsCode"
    needs = frozenset({"invoke", "ok", "deliver", "record", "audit"})

    def begin(self) -> None:
        self.tags: dict[str | None, str | None] = {}
        """By message that was sent, its tag; empty without one, None where nobody said."""
        self.asked: dict[int | None, tuple[Invoke, frozenset[str]]] = {}
        self.brought: dict[int | None, set[int | None]] = {}
        """By pull, the queue offsets of what it has brought."""
        self.done: list[Ok] = []
        self.listing: list[Record] = []
        self.listed: list[Record] = []
        self.lost = False

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "send":
            said = told(event.detail)
            self.tags[event.message] = said.get("tags", "") if said else None
        elif event.f == "select":
            wanted = str(told(event.detail).get("tags", "")).split("||")
            self.asked[event.op] = event, frozenset(each.strip() for each in wanted)
            self.brought[event.op] = set()

    def on_deliver(self, event: Deliver) -> None:
        if event.op not in self.asked:
            return
        self.brought[event.op].add(event.queue_offset)
        tag, (_, wanted) = self.tags.get(event.message), self.asked[event.op]
        if tag is not None:
            self.judged += 1
            if tag not in wanted:
                what = f"{event.message}, which was sent {f'with {tag}' if tag else 'without a tag'}"
                self.violate(event, f"{event.node}, asked for {' or '.join(sorted(wanted))}, delivered {what}")

    def on_ok(self, event: Ok) -> None:
        if event.op in self.asked and event.status in ANSWERED:
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
        for answer in () if self.lost or self.ledger.rollbacks else self.done:
            asked, wanted = self.asked[answer.op]
            reach = range(asked.asked_from or 0, answer.queue_offset or 0)
            for each in self.listed:
                if each.queue == asked.queue and each.queue_offset in reach and told(each.detail).get("tags") in wanted:
                    self.judged += 1
                    if each.queue_offset not in self.brought[answer.op]:
                        where = f"{each.message} at {each.queue_offset} of {each.queue}"
                        self.violate(answer, f"{answer.node} went on at {answer.queue_offset} without {where}")
