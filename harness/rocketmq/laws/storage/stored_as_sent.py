"""``stored-as-sent``: a record is what its producer sent, and the record of an acknowledged send is where it was told.

Two questions, asked of every audit that lists records:

- a record that has the key of a send has the body, the tags and the flag of that send, and lies in its queue, or in one
  that its broker chose and named in the answer; a delayed one waits in SCHEDULE_TOPIC_XXXX, a half message in
  RMQ_SYS_TRANS_HALF_TOPIC, and names that queue in its properties; a compressed body is marked as such;
- where the answer to a send said that its record is, the master has it, with the queue offset of the answer; that is
  how a record without its key, or with another one's, is found.

A message that is sent again, as producers do that got no answer, may be any of its sends. Left out: copies that
consumers send back (%RETRY%, %DLQ%): they have another queue and the same content; places whose bytes a master's power
loss may have taken, or its retention, or that are of another store, or of an earlier life of the master than the
answer's; properties besides keys and tags; sends whose client did not say what it sent. Whether a record must be there
at all after a crash, see ``contract``. Source: SendMessageProcessor.asyncSendMessage, CommitLog.asyncPutMessage.
"""

from typing import Any

from ....event_types.client import SENDS, Invoke, Ok
from ....event_types.node import Start, Wipe
from ....judging.law import DURABILITY, only
from ....texts.content import payload
from ... import contract
from ...event_types.log import Audit, Record
from ...known.circumstances import EARLIER_INCARNATION
from ...law import Law
from ...topology import MASTER
from ..delivery.sent_back import DEAD, RETRY

DELAYED = "SCHEDULE_TOPIC_XXXX"
HALF = "RMQ_SYS_TRANS_HALF_TOPIC"
SENT_BACK = (RETRY, DEAD)
PARTS = ("body", "tags", "flag", "compressed")


class StoredAsSent(Law):
    id = "stored-as-sent"
    kind = DURABILITY
    promise = "A record has the queue, body, key, tags and flag of its send, and lies where the answer said."
    source = "SendMessageProcessor.asyncSendMessage; CommitLog.asyncPutMessage"
    needs = frozenset({"invoke", "ok", "record", "audit"})

    def begin(self) -> None:
        self.sent: dict[str | None, list[Invoke]] = {}
        """Sends by message; more than one if it was sent again."""
        self.answered: dict[int, tuple[Ok, Invoke]] = {}
        """Answers that said where in the master's log a record is, by that place, and the sends."""

    @only(*SENDS)
    def on_invoke(self, event: Invoke) -> None:
        self.sent.setdefault(event.message, []).append(event)

    def on_ok(self, event: Ok) -> None:
        is_stored = event.f in SENDS and event.node == MASTER and event.status in contract.STORED
        call = self.known.calls.begun(event)
        if is_stored and event.lo is not None and call is not None and not self.abstains(event, EARLIER_INCARNATION):
            self.answered[event.lo] = event, call.call

    def on_record(self, event: Record) -> None:
        sends = self.sent.get(event.message)
        common = self.known.logs.diverged.get(event.node)
        if not sends or (common is not None and event.hi > common):
            # A slave that keeps what its master lost may end half a record with the rest of another: it diverged.
            return
        self.judged += 1
        if any(event.queue == send.queue and event.detail == send.detail for send in sends):
            return
        wrong = [_difference(send, event) for send in sends]
        if None not in wrong:
            self.violate(event, f"{event.node} holds {event.message} at {event.lo}, {wrong[-1]}")

    @only(node=MASTER)
    def on_audit(self, event: Audit) -> None:
        found = {each.lo: each for each in self.known.audits.records(event)}
        if not found:
            # Not listed, or nothing to list: `contract` knows what must be there.
            return
        whole = event.hi if event.whole_to is None else event.whole_to
        for lo, (answer, send) in self.answered.items():
            if event.lo <= lo < (whole or 0):
                self._judge_place(answer, send, found.get(lo))

    def _judge_place(self, answer: Ok, send: Invoke, record: Record | None) -> None:
        self.judged += 1
        message, where = answer.message, f"at {answer.lo}, where {answer.message} was said to be"
        if record is None:
            self.violate(answer, f"no record begins {where} ({answer.status})")
        elif record.message != message:
            self.violate(record, f"{record.message or 'a record without a key'} lies {where} ({answer.status})")
        elif _is_unaimed(send.queue) and not _is_unaimed(answer.queue) and record.queue != answer.queue:
            self.violate(record, f"{message} lies in {record.queue}; its sender was told {answer.queue}")
        elif record.queue_offset != answer.queue_offset and None not in (record.queue_offset, answer.queue_offset):
            offsets = f"has queue offset {record.queue_offset}; its sender was told {answer.queue_offset}"
            self.violate(record, f"{message} {offsets}")

    # What takes records, or moves what is at a place.

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.answered.clear()

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        if event.hi is not None or self.known.nodes.lost_power(MASTER):
            # Where nobody says what was recovered after a power loss, nothing is known to be left.
            end = event.hi or 0
            self.answered = {lo: each for lo, each in self.answered.items() if lo < end}


def _difference(send: Invoke, record: Record) -> str | None:
    """What a record is otherwise than its send was; None if nothing."""
    said, held = payload(send.detail), payload(record.detail)
    if said and held:
        for part in PARTS:
            if said.get(part) != held.get(part):
                return _of_part(part, said, held)
    queue = record.queue or ""
    if _is_in(send, queue) or send.queue is None:
        return None
    topic, real = queue.rpartition("/")[0], str(held.get("real"))
    waits_in = DELAYED if said.get("level") else HALF if said.get("half") else None
    if waits_in is not None and topic == waits_in:
        if not _is_in(send, real) and not real.startswith(SENT_BACK):
            return f"which waits to go to {held.get('real', 'nowhere')}; it was sent to {send.queue}"
        return None
    if (send.queue or "").startswith(SENT_BACK) and "times" not in held:
        return f"in {record.queue}; it was sent to {send.queue}"
    if topic.startswith(SENT_BACK) or (topic == DELAYED and real.startswith(SENT_BACK)):
        return None
    return f"in {record.queue}; it was sent to {send.queue}"


def _is_in(send: Invoke, queue: str) -> bool:
    """Whether ``queue`` is the one that was sent to; a negative number leaves the choice to the broker."""
    if queue == send.queue:
        return True
    return _is_unaimed(send.queue) and queue.rpartition("/")[0] == (send.queue or "").rpartition("/")[0]


def _is_unaimed(queue: str | None) -> bool:
    """Whether nobody says which queue of the topic."""
    return queue is None or queue.rpartition("/")[2].startswith("-")


def _of_part(part: str, said: dict[str, Any], held: dict[str, Any]) -> str:
    if part == "body":
        return "with another body than was sent"
    return f"with {part} {held.get(part, 'none')}; it was sent with {said.get(part, 'none')}"
