"""``stored-sent-back``: a message that a consumer sent back is stored once more, with one retry more: in its delay
level, or as a dead letter after the last retry. It keeps its origin.

``stored-as-sent`` checks the content, ``deliver-sent-back`` the delivery.

Checks:
- In the master's final audit there is a copy for each send-back that the master acknowledged, and none without a
  request.
- The copy counts one retry more than the record that the consumer named, and names the first message
  (ORIGIN_MESSAGE_ID) and its topic (RETRY_TOPIC).
- It waits in the requested delay level, or in level 3 + its retries; after maxReconsumeTimes retries it is in the
  group's %DLQ%.
- It enters the group's %RETRY% once, not before its delay has passed, and within 5 s after it.
Abstains when:
- The master lost a part of its log.
- For times: the master's clock was set. For the number of returns: the master went down.
Source: AbstractSendMessageProcessor.consumerSendMsgBack.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from ....history import MS
from ....judging.law import only
from ....texts.content import payload
from ...event_types.groups import Back
from ...event_types.log import Audit, Record
from ...known.metadata import DEAD, RETRY
from ...known.sent import Request
from ...topology import MASTER
from ..delivery.deliver_delayed import LATE_NS, WAITING
from ..delivery.sent_back import SentBack


class Key(NamedTuple):
    """Identifies the copies of a message for a group, after so many retries."""

    group: str
    message: str | None
    times: int


class Due(NamedTuple):
    """The copy that a send-back requests."""

    level: int
    origin: int | None
    topic: str
    acked_at: int | None
    """When the master acknowledged it, ns."""


class StoredSentBack(SentBack):
    needs = frozenset({"config", "back", "start", "record", "audit"})
    timed = True

    @only(node=MASTER)
    def on_audit(self, event: Audit) -> None:
        found = {each.lo: each for each in self.known.audits.records(event)}
        whole = event.whole_to in (None, event.hi)
        if event.f != "final" or self.excused or not self.asked or not found or not whole:
            return
        dues: dict[Key, list[Due]] = defaultdict(list)
        for back in self.asked:
            source = found.get(back.at)
            if source is not None:
                key, due = self._due(back, source)
                dues[key].append(due)
        stored: dict[Key, list[Record]] = defaultdict(list)
        returned: dict[Key, list[Record]] = defaultdict(list)
        for record in found.values():
            group, is_back = _group(record)
            if group and (times := payload(record.detail).get("times")):
                (returned if is_back else stored)[Key(group, record.message, times)].append(record)
        for key in (*dues, *(each for each in stored if each not in dues)):
            self._judge_copies(key, dues.get(key, []), stored.get(key, []), event)
            self._judge_return(key, dues.get(key, []), stored.get(key, []), returned.get(key, []), event)

    def _due(self, back: Request[Back], source: Record) -> tuple[Key, Due]:
        held = payload(source.detail)
        times = int(held.get("times", 0))
        origin = _offset(held) if times else source.lo
        topic = str(held.get("from")) if times else (source.queue or "").rpartition("/")[0]
        key = Key(back.event.group or "", source.message, times + 1)
        return key, Due(self.level_of(back, times), origin, topic, None if self.has_no_retries(back) else back.taken)

    def _judge_copies(self, key: Key, dues: list[Due], stored: list[Record], end: Audit) -> None:
        self.judged += 1
        acked = sum(due.acked_at is not None for due in dues)
        what = f"{key.message} of {key.group}, sent back for time {key.times},"
        if len(stored) < acked:
            self._report(end, key, f"{what} was acknowledged {acked} times and is stored {len(stored)} times")
        elif len(stored) > len(dues):
            self._report(stored[-1], key, f"{what} is stored {len(stored)} times; it was requested {len(dues)} times")
        targets = {f"{WAITING}{due.level - 1}" if due.level else DEAD + key.group for due in dues}
        for record in stored if dues else ():
            held, target = payload(record.detail), _target(record)
            if target not in targets:
                self._report(record, key, f"{what} is in {target}; it belongs in {' or '.join(sorted(targets))}")
            elif (_offset(held), held.get("from")) not in {(due.origin, due.topic) for due in dues}:
                self._report(record, key, f"{what} names {held.get('origin')} from {held.get('from')} as its origin")

    def _judge_return(
        self, key: Key, dues: list[Due], stored: list[Record], returned: list[Record], end: Audit
    ) -> None:  # fmt: skip
        waited = [each for each in stored if _target(each).startswith(WAITING)]
        what = f"{key.message}, which waited for {key.group} for time {key.times},"
        if len(returned) > len(waited) and not self.went_down:
            self._report(returned[-1], key, f"{what} came back {len(returned)} times; it waited {len(waited)} times")
        if MASTER in self.known.clocks or not waited:
            return
        # Several waiting copies cannot be distinguished after the master went down.
        delay = min(self.delay_ns(int((each.queue or "").rpartition("/")[2]) + 1) // MS for each in waited)
        for before, after in zip(waited, returned, strict=False) if len(waited) == 1 or not self.went_down else ():
            took = (after.value or 0) - (before.value or 0)
            if took < delay:
                self._report(after, key, f"{what} came back after {took} ms; its delay is {delay} ms")
        if len(returned) < len(waited) <= len(dues) and MASTER in self.known.up:
            last = max((due.acked_at or end.t) + (self.delay_ns(due.level) if due.level else 0) for due in dues)
            healed = self.known.milestones.get("heal")
            since = max(last, 0 if healed is None else healed.t, self.known.nodes.last_start(MASTER))
            if end.t - since > LATE_NS:
                text = f"{what} is not back; it is {(end.t - since) // MS} ms late"
                self.violate(end._replace(message=key.message), text, since=since)

    def _report(self, event: Record | Audit, key: Key, text: str) -> None:
        self.violate(event._replace(message=key.message), text, since=None)

    @property
    def went_down(self) -> bool:
        return self.known.nodes.ended(MASTER) > 0


def _group(record: Record) -> tuple[str, bool]:
    """The group whose copy it is, if any, and whether it is in the group's retry topic."""
    queue = record.queue or ""
    target = str(payload(record.detail).get("real", "")) if queue.startswith(WAITING) else queue
    for prefix in (RETRY, DEAD):
        if target.startswith(prefix):
            return target[len(prefix) :].rpartition("/")[0], queue.startswith(RETRY)
    return "", False


def _target(record: Record) -> str:
    """The queue in which it waits, else its topic."""
    queue = record.queue or ""
    return queue if queue.startswith(WAITING) else queue.rpartition("/")[0]


def _offset(held: dict[str, Any]) -> int | None:
    try:
        return int(str(held.get("origin"))[-16:], 16)
    except ValueError:
        return None
