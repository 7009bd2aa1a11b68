"""``stored-sent-back``: a message that the master took back is in its log again, as often as it was taken, where it is
to wait, with one retry more, and says where it is from.

Judged at the master's final audit. What a consumer sent back has a copy for each time that the master said it has it,
and none that nobody asked for; the copy counts one retry more than the record that the consumer named, and names the
first message of all (ORIGIN_MESSAGE_ID) and its topic (RETRY_TOPIC). It waits in the delay level that the consumer
asked for, or in level 3 + its retries; after maxReconsumeTimes retries it is in %DLQ% of the group. From its level it
comes into %RETRY% of the group once, not before its delay has passed, and within 5 s of it.

Left out: body, tags and flag, see ``stored-as-sent``; who gets it, see ``deliver-sent-back``; when it came, where the
master's clock was set, and how often, if the master went down; everything after the master lost a part of its log.
Source: AbstractSendMessageProcessor.consumerSendMsgBack.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from ....event_types.machine import Mark
from ....history import MS
from ....judging.law import only
from ....texts.content import payload
from ...event_types.groups import Back
from ...event_types.log import Audit, Record
from ...known.sent import Request
from ...topology import MASTER
from ..delivery.deliver_delayed import LATE_NS, WAITING
from ..delivery.sent_back import DEAD, RETRY, SentBack


class Key(NamedTuple):
    """Copies of one message for one group, after so many retries."""

    group: str
    message: str | None
    times: int


class Due(NamedTuple):
    """What a send-back asks for."""

    level: int
    origin: int | None
    topic: str
    taken: int | None
    """When the master said that it has it, ns."""


class StoredSentBack(SentBack):
    id = "stored-sent-back"
    promise = (
        "A message that a consumer sent back is stored once more: to come again after its level, with one retry more, "
        "or as a dead letter after the last; it keeps its origin."
    )
    source = "AbstractSendMessageProcessor.consumerSendMsgBack"
    needs = frozenset({"config", "back", "start", "record", "audit"})
    timed = True

    def begin(self) -> None:
        self.healed = 0

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
        came: dict[Key, list[Record]] = defaultdict(list)
        for record in found.values():
            group, is_back = _group(record)
            if group and (times := payload(record.detail).get("times")):
                (came if is_back else stored)[Key(group, record.message, times)].append(record)
        for key in (*dues, *(each for each in stored if each not in dues)):
            self._judge_copies(key, dues.get(key, []), stored.get(key, []), event)
            self._judge_return(key, dues.get(key, []), stored.get(key, []), came.get(key, []), event)

    def _due(self, back: Request[Back], source: Record) -> tuple[Key, Due]:
        """What is owed to a send-back, by the record that it names."""
        held = payload(source.detail)
        times = int(held.get("times", 0))
        origin = _offset(held) if times else source.lo
        topic = str(held.get("from")) if times else (source.queue or "").rpartition("/")[0]
        key = Key(back.event.group or "", source.message, times + 1)
        return key, Due(self.level_of(back, times), origin, topic, back.taken)

    def _judge_copies(self, key: Key, dues: list[Due], stored: list[Record], end: Audit) -> None:
        self.judged += 1
        taken = sum(due.taken is not None for due in dues)
        what = f"{key.message} of {key.group}, sent back for time {key.times},"
        if len(stored) < taken:
            self._say(end, key, f"{what} was taken {taken} times and is stored {len(stored)} times")
        elif len(stored) > len(dues):
            self._say(stored[-1], key, f"{what} is stored {len(stored)} times; it was asked for {len(dues)} times")
        places = {f"{WAITING}{due.level - 1}" if due.level else DEAD + key.group for due in dues}
        for record in stored if dues else ():
            held, place = payload(record.detail), _place(record)
            if place not in places:
                self._say(record, key, f"{what} is in {place}; it belongs into {' or '.join(sorted(places))}")
            elif (_offset(held), held.get("from")) not in {(due.origin, due.topic) for due in dues}:
                self._say(record, key, f"{what} says that it is {held.get('origin')} from {held.get('from')}")

    def _judge_return(
        self, key: Key, dues: list[Due], stored: list[Record], came: list[Record], end: Audit
    ) -> None:  # fmt: skip
        waited = [each for each in stored if _place(each).startswith(WAITING)]
        what = f"{key.message}, which waited for {key.group} for time {key.times},"
        if len(came) > len(waited) and not self.went_down:
            self._say(came[-1], key, f"{what} came back {len(came)} times; it waited {len(waited)} times")
        if MASTER in self.known.clocks or not waited:
            return
        # Of several that waited, and went other ways, nobody knows which one is back.
        delay = min(self.delay_ns(int((each.queue or "").rpartition("/")[2]) + 1) // MS for each in waited)
        for before, after in zip(waited, came, strict=False) if len(waited) == 1 or not self.went_down else ():
            took = (after.value or 0) - (before.value or 0)
            if took < delay:
                self._say(after, key, f"{what} came back after {took} ms; its delay is {delay} ms")
        if len(came) < len(waited) <= len(dues) and MASTER in self.known.up:
            last = max((due.taken or end.t) + (self.delay_ns(due.level) if due.level else 0) for due in dues)
            since = max(last, self.healed, self.known.nodes.last_start(MASTER))
            if end.t - since > LATE_NS:
                text = f"{what} is not back, though it is due since {(end.t - since) // MS} ms"
                self.violate(end._replace(message=key.message), text, since=since)

    def _say(self, event: Record | Audit, key: Key, text: str) -> None:
        self.violate(event._replace(message=key.message), text, since=None)

    # What changes what is due.

    @only("heal")
    def on_mark(self, event: Mark) -> None:
        self.healed = event.t

    @property
    def went_down(self) -> bool:
        return self.known.nodes.ended(MASTER) > 0


def _group(record: Record) -> tuple[str, bool]:
    """Whose copy it is, if of any group, and whether it is back in the group's retry topic."""
    queue = record.queue or ""
    where = str(payload(record.detail).get("real", "")) if queue.startswith(WAITING) else queue
    for prefix in (RETRY, DEAD):
        if where.startswith(prefix):
            return where[len(prefix) :].rpartition("/")[0], queue.startswith(RETRY)
    return "", False


def _place(record: Record) -> str:
    """The queue where it waits; else its topic."""
    queue = record.queue or ""
    return queue if queue.startswith(WAITING) else queue.rpartition("/")[0]


def _offset(held: dict[str, Any]) -> int | None:
    """Where its first message lies, by its ORIGIN_MESSAGE_ID."""
    try:
        return int(str(held.get("origin"))[-16:], 16)
    except ValueError:
        return None
