"""``stored-as-sent``: a record has the queue, body, key, tags and flag of its send, and the offset that the answer
reported.

Checks:
- A record with the key of a send has its body, tags and flag, and is in its queue, or in one that the broker chose and
  reported. A delayed one waits in SCHEDULE_TOPIC_XXXX, a half message in RMQ_SYS_TRANS_HALF_TOPIC; both name that queue
  in their properties.
- At the log offset that the answer to a send reported, the master has the record, with the reported queue offset. This
  finds records with a wrong key.
- A message that is sent again, as after a missing answer, may equal any of its sends.
Abstains when:
- A consumer sent the copy back (%RETRY%, %DLQ%): it has another queue.
- A power loss or retention may have removed the record, or it belongs to another store or an earlier incarnation of the
  master. Whether a record must survive: see ``contract``.
- A lying disk tore the record undetectably (``lost_undetected``).
- The client did not record the content.
Source: SendMessageProcessor.asyncSendMessage, CommitLog.asyncPutMessage.
"""

from typing import Any

from ....event_types.client import SENDS, Invoke, Ok
from ....event_types.node import Start, Wipe
from ....judging.law import DURABILITY, only
from ....texts.content import payload
from ... import contract
from ...event_types.log import Audit, Record
from ...known.circumstances import EARLIER_INCARNATION, LOST_UNDETECTED
from ...known.metadata import DEAD, RETRY
from ...law import Law
from ...topology import MASTER

DELAYED = "SCHEDULE_TOPIC_XXXX"
HALF = "RMQ_SYS_TRANS_HALF_TOPIC"
SENT_BACK = (RETRY, DEAD)
PARTS = ("body", "tags", "flag", "compressed")


class StoredAsSent(Law):
    kind = DURABILITY
    needs = frozenset({"invoke", "ok", "record", "audit"})

    def begin(self) -> None:
        self.sent: dict[str | None, list[Invoke]] = {}
        self.answered: dict[int, tuple[Ok, Invoke]] = {}
        """By log offset that an answer reported: the answer and its send."""

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
        if not sends or (common is not None and event.hi > common) or self.abstains(event, LOST_UNDETECTED):
            # A diverged slave may join halves of two records.
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
            # Records that must survive: see `contract`.
            return
        whole = event.hi if event.whole_to is None else event.whole_to
        for lo, (answer, send) in self.answered.items():
            if event.lo <= lo < (whole or 0):
                self._judge_offset(answer, send, found.get(lo))

    def _judge_offset(self, answer: Ok, send: Invoke, record: Record | None) -> None:
        self.judged += 1
        message, where = answer.message, f"at {answer.lo}, the reported offset of {answer.message}"
        if record is None:
            self.violate(answer, f"no record begins {where} ({answer.status})")
        elif record.message != message:
            self.violate(record, f"{record.message or 'a record without a key'} is {where} ({answer.status})")
        elif _is_unaimed(send.queue) and not _is_unaimed(answer.queue) and record.queue != answer.queue:
            self.violate(record, f"{message} is in {record.queue}; the answer reported {answer.queue}")
        elif record.queue_offset != answer.queue_offset and None not in (record.queue_offset, answer.queue_offset):
            offsets = f"has queue offset {record.queue_offset}; the answer reported {answer.queue_offset}"
            self.violate(record, f"{message} {offsets}")

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.answered.clear()

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        end = self.known.nodes.left(event).hi
        self.answered = {lo: each for lo, each in self.answered.items() if lo < end}


def _difference(send: Invoke, record: Record) -> str | None:
    """Describe the difference between a record and its send; None without one."""
    sent, held = payload(send.detail), payload(record.detail)
    if sent and held:
        for part in PARTS:
            if sent.get(part) != held.get(part):
                return _part_differs(part, sent, held)
    queue = record.queue or ""
    if _is_in(send, queue) or send.queue is None:
        return None
    topic, real = queue.rpartition("/")[0], str(held.get("real"))
    waits_in = DELAYED if sent.get("level") else HALF if sent.get("half") else None
    if waits_in is not None and topic == waits_in:
        if not _is_in(send, real) and not real.startswith(SENT_BACK):
            return f"which waits for {held.get('real', 'no queue')}; it was sent to {send.queue}"
        return None
    if (send.queue or "").startswith(SENT_BACK) and "times" not in held:
        return f"in {record.queue}; it was sent to {send.queue}"
    if topic.startswith(SENT_BACK) or (topic == DELAYED and real.startswith(SENT_BACK)):
        return None
    return f"in {record.queue}; it was sent to {send.queue}"


def _is_in(send: Invoke, queue: str) -> bool:
    """Whether ``queue`` is the send's; a negative number leaves the choice to the broker."""
    if queue == send.queue:
        return True
    return _is_unaimed(send.queue) and queue.rpartition("/")[0] == (send.queue or "").rpartition("/")[0]


def _is_unaimed(queue: str | None) -> bool:
    """Whether the send leaves the choice of the queue to the broker."""
    return queue is None or queue.rpartition("/")[2].startswith("-")


def _part_differs(part: str, sent: dict[str, Any], held: dict[str, Any]) -> str:
    if part == "body":
        return "with another body than was sent"
    return f"with {part} {held.get(part, 'none')}; it was sent with {sent.get(part, 'none')}"
