"""Questions to brokers about their logs after a trial has settled, and their answers as ``answer`` events.

They change nothing, need no fault, and are few: :data:`MOST` a broker, drawn by the trial's seed from its last audit,
so a replay asks the same. A Java broker gets fewer: :data:`OF_JAVA`.

Source: MQAdminImpl, DefaultMQAdminExt of RocketMQ 4.9.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from ...harness.history import UNREADABLE, Event
from ...harness.texts.quoting import quoted
from ..observers import answer_reader
from ..observers.remoting_codes import Request
from .defaults import DEFAULTS
from .provision import TOPIC

MOST = 3
"""Out of ten and more: a trial takes ten milliseconds, and a question up to a tenth of one."""
USUAL = ("key", "id", "time")
"""Users look for messages: one of these is always asked. Where messages share keys, which is rare, two more by key."""
NOBODYS, EARLY = "nobody-has-sent-this", "m1"
"""Keys of no message, and of one that expires early."""
CLOSED = "CLOSED"
"""The connection ended without an answer."""
ENDED = "ENDED"
"""The node's program ended without an answer."""
MOST_MESSAGES = 64
"""maxMsgsNumBatch: the most messages in a broker's answer."""
FOREVER = (1 << 63) - 1
SECOND_MS = 1_000
"""Resolution of times in the key index."""
CODES: Mapping[str, int] = {
    "key": Request.QUERY_MESSAGE,
    "id": Request.VIEW_MESSAGE_BY_ID,
    "nobody's key": Request.QUERY_MESSAGE,
    "bad id": Request.VIEW_MESSAGE_BY_ID,
    "time": Request.SEARCH_OFFSET_BY_TIMESTAMP,
    "max": Request.GET_MAX_OFFSET,
    "min": Request.GET_MIN_OFFSET,
    "earliest": Request.GET_EARLIEST_MSG_STORETIME,
    "runtime": Request.GET_BROKER_RUNTIME_INFO,
    "config": Request.GET_BROKER_CONFIG,
    "topic": Request.GET_TOPIC_STATS_INFO,
    "group": Request.GET_CONSUME_STATS,
    "members": Request.GET_CONSUMER_LIST_BY_GROUP,
    "newcomer": Request.QUERY_CONSUMER_OFFSET,
}
SAME = {"nobody's key": "key", "bad id": "id"}
"""Questions that have another name in a history."""
OF_GROUPS = ("group", "members")
OF_RECORDS = ("key", "id", "bad id", "time", "max", "min", "earliest", "newcomer")
ALWAYS = tuple(each for each in CODES if each not in (*OF_GROUPS, *OF_RECORDS))
FIGURES = ("commitLogMinOffset", "commitLogMaxOffset", "dispatchBehindBytes")
EARLIEST = "earliestMessageTimeStamp"


class Asking(NamedTuple):
    """Questions for a type of broker, and the compared values of its runtime information."""

    kinds: frozenset[str]
    figures: tuple[str, ...]
    has_conversation: bool = False
    """Whether it also gets conformance conversations, which leave a trace."""


OF_REFERENCE = Asking(frozenset(CODES), (*FIGURES, EARLIEST), True)
OF_JAVA = Asking(OF_REFERENCE.kinds - {"bad id", "time", "newcomer"}, FIGURES)
"""A RocketMQ broker accepts any bytes at an offset as a record. It searches for a time in the first queue file written
then or later (4.9), or returns the first message that is not older (5.x). For the time of the earliest message it
returns -1 if the log is shorter than twice the largest message. Its estimate of messages in memory depends on the
machine.
"""


class Question(NamedTuple):
    """One question. ``columns``: of its event; ``f``: one of :data:`CODES`."""

    f: str
    fields: Mapping[str, str]
    columns: Mapping[str, object]

    @property
    def code(self) -> int:
        return CODES[self.f]


class Answered(NamedTuple):
    """A request's result: the response code's name, the header's fields, the body and the remark."""

    status: str
    fields: Mapping[str, str]
    body: bytes
    remark: str | None = None


class Audited(NamedTuple):
    """A broker's last audit: its number, and the records, in the log's order."""

    number: int | None
    records: Sequence[Event]


def audited(events: Sequence[Event], node: str) -> Audited:
    """Read from a history whose last audits are those of its end."""
    number, found = None, []
    for event in reversed(events):
        kind = event.kind
        if kind == "mark":
            break
        if kind == "audit":
            if event.node == node and event.f == "final":
                number = event.op
        elif kind == "record" and event.op == number and event.node == node:
            found.append(event)
    return Audited(number, found[::-1])


def chosen(
    seed: str, node: str, records: Sequence[Event], groups: Sequence[str], kinds: frozenset[str]
) -> list[Question]:
    """Questions for a broker with these records; only of ``kinds``."""
    dice = Random(f"{seed}/questions/{node}")
    askable = (*ALWAYS, *(OF_GROUPS if groups else ()), *(OF_RECORDS if records else ()))
    names = [each for each in askable if each in kinds]
    drawn = dice.sample(names, min(MOST, len(names)))
    has_shared = any(" " in (each.message or "") for each in records)
    usual = [each for each in USUAL if each in names]
    if has_shared and "key" in names:
        drawn += ("key", "key")
    elif usual and not set(usual) & set(drawn):
        drawn[-1] = dice.choice(usual)
    found = []
    for name in drawn:
        if name in OF_GROUPS:
            found.append(_of_group(name, dice.choice(groups)))
        elif name in OF_RECORDS:
            found.append(_of_record(name, dice, records))
        else:
            found.append(_of_broker(name, bool(records) and records[0].lo != 0))
    return found


def record(
    add: Callable[..., None], now: int, node: str, incarnation: int, audit: int | None, question: Question,
    answered: Answered, figures: Sequence[str],
) -> None:  # fmt: skip
    """Record an answer."""
    f = SAME.get(question.f, question.f)
    found: dict[str, Any] = {"status": answered.status}
    try:
        if answered.status == "PUT_OK":
            found |= _read(f, answered, figures)
    except (ValueError, KeyError, TypeError, AttributeError) as why:
        found = {"status": UNREADABLE, "detail": quoted(why)}
    add(now, "answer", node, incarnation, op=audit, f=f, **question.columns, **found)


def _of_broker(f: str, has_expired: bool) -> Question:
    match f:
        case "nobody's key":
            return _by_key(f, TOPIC, EARLY, EARLY) if has_expired else _by_key(f, TOPIC, NOBODYS, None)
        case "topic":
            return Question(f, {"topic": TOPIC}, {"queue": TOPIC})
    return Question(f, {}, {})


def _of_group(f: str, group: str) -> Question:
    named = {"consumerGroup": group}
    if f == "group":
        return Question(f, {**named, "topic": TOPIC}, {"group": group, "queue": TOPIC})
    return Question(f, named, {"group": group})


def _of_record(f: str, dice: Random, records: Sequence[Event]) -> Question:
    one = dice.choice(records)
    topic, _, number = (one.queue or "").rpartition("/")
    lo, hi = one.lo or 0, one.hi or 0
    match f:
        case "key":
            several = [each for each in records if " " in (each.message or "")]
            one = dice.choice(several) if several else one
            topic = (one.queue or "").rpartition("/")[0]
            words = (one.message or NOBODYS).split(" ")
            # Its last key is one that messages share.
            key = words[-1] if dice.random() < 0.8 else dice.choice(words)
            window = dice.random() < 0.4
            near = one.value or 0
            begin = dice.choice((0, near - SECOND_MS, near, near + 1)) if window else 0
            end = dice.choice((near - SECOND_MS, near, near + SECOND_MS, FOREVER)) if window else FOREVER
            most = dice.choice((1, 2, *(MOST_MESSAGES,) * 3))
            return _by_key(f, topic, key, key if one.message else None, begin, end, most)
        case "id":
            return _at(f, lo)
        case "bad id":
            # In the middle of a record, behind the log's end, nowhere, and of an expired message.
            expired = (0,) if records[0].lo else ()
            return _at(f, dice.choice((lo + 1, (lo + hi) // 2, (records[-1].hi or 0) + 1, -1, *expired)))
    queue = {"topic": topic, "queueId": number}
    if f == "newcomer":
        return Question(f, {**queue, "consumerGroup": NOBODYS}, {"queue": one.queue})
    if f != "time":
        return Question(f, queue, {"queue": one.queue})
    times = [each.value or 0 for each in records if each.queue == one.queue]
    near = dice.randrange(len(times))
    earlier, later = sorted((times[near - 1], times[near]))
    shared = [each for each, following in pairwise(times) if each == following] or times
    # Before all of them, at or just behind one, between two, behind all, and at one of several of one millisecond.
    time = dice.choice((
        times[0] - 1, earlier + dice.randrange(2), dice.randint(earlier, later), times[-1] + 1, dice.choice(shared)
    ))  # fmt: skip
    return Question(f, {**queue, "timestamp": str(time)}, {"queue": one.queue, "value": time})


def _by_key(
    f: str, topic: str, key: str, message: str | None, begin: int = 0, end: int = FOREVER, most: int = MOST_MESSAGES
) -> Question:
    return Question(
        f, {"topic": topic, "key": key, "maxNum": str(most), "beginTimestamp": str(begin), "endTimestamp": str(end)},
        {"message": message, "queue": topic, "lo": begin, "hi": end, "value": most},
    )  # fmt: skip


def _at(f: str, offset: int) -> Question:
    return Question(f, {"offset": str(offset)}, {"value": offset})


def _read(f: str, answered: Answered, figures: Sequence[str]) -> dict[str, object]:
    fields, body = answered.fields, answered.body
    match f:
        case "key":
            return {"detail": json.dumps(answer_reader.records(body))}
        case "id":
            found = answer_reader.records(body)
            if len(found) != 1:
                raise ValueError(f"{len(found)} records")
            return {"lo": found[0][0], "digest": found[0][1]}
        case "time" | "max" | "min" | "newcomer":
            return {"queue_offset": answer_reader.number(fields["offset"])}
        case "earliest":
            return {"lo": answer_reader.number(fields["timestamp"])}
        case "runtime":
            return {"detail": json.dumps(answer_reader.figures(body, figures))}
        case "config":
            return {"detail": json.dumps(answer_reader.properties(body, DEFAULTS))}
        case "members":
            return {"detail": json.dumps(answer_reader.members(body))}
    names = answer_reader.TOPIC if f == "topic" else answer_reader.GROUP
    return {"detail": json.dumps(answer_reader.queues(body, names))}
