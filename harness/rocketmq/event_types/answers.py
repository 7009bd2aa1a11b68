"""Answers of brokers to questions about their logs, at a trial's end."""

from __future__ import annotations

from typing import Literal

from ...event_types.base import OfNode
from ...event_types.text import The, count, plain
from ...history import column

SUBJECTS = {
    "key": "for messages with key {0.message} of {0.queue}{0.window}",
    "id": "for the message at offset {0.value} of its log",
    "time": "for the offset of time {0.value} in {0.queue}",
    "max": "where {0.queue} ends",
    "min": "where {0.queue} begins",
    "earliest": "when the first message of {0.queue} was stored",
    "runtime": "about itself",
    "config": "how it is set",
    "topic": "how far the queues of {0.queue} go",
    "group": "how far {0.group} is in {0.queue}",
    "members": "who consumes as {0.group}",
    "newcomer": "where a group without progress begins in {0.queue}",
}
"""The question, by ``f``."""


class Answer(OfNode):
    """A broker answered a question about its log after its final audit. A broker that does not answer in time has no
    such event.
    """

    audit: int = column("op")
    """The number of the last audit before it."""
    f: Literal[
        "key", "id", "time", "max", "min", "earliest", "runtime", "config", "topic", "group", "members", "newcomer"
    ]
    """Messages of a topic by their key; the message at an offset of the log (id); an offset of a queue (time, max,
    min); the store time of its first message (earliest); the broker's own figures (runtime); its settings (config); the
    ranges of queues (topic); progress (group); consumers (members); where a group without progress begins
    (newcomer)."""
    status: str
    """The response code's name; PUT_OK is code 0, SUCCESS; unreadable answer: ``detail`` has the error."""
    message: str | None
    """The requested key; none: a key that no client sent."""
    queue: str | None
    """The requested queue; for key, topic and group only the topic."""
    group: str | None
    asked: int | None = column("value")
    """For key the most messages; for id the offset in the log; for time the time, Unix time in ms."""
    queue_offset: int | None
    """The offset in the answer to time, max, min and newcomer."""
    lo: int | None
    """For key the begin of the time window; for id the record's own offset in the answer; for earliest the time in the
    answer. Times are Unix times in ms."""
    hi: int | None
    """For key the end of the time window."""
    digest: int | None
    """For the record in the answer to id."""
    detail: str | None
    """JSON: key: offsets and digests of the records, in order; runtime, config: values by name; topic: by queue id
    first offset, next offset, last store time; group: next offset, progress, last store time; members: client ids."""

    @property
    def window(self) -> str:
        """For key, in newer histories."""
        return "" if self.hi is None else f" (at most {self.asked}, stored in [{self.lo}, {self.hi}])"

    def words(self, the: The) -> str:
        found = "" if self.queue_offset is None else f": {count(self.queue_offset)}"
        content = "" if self.detail is None else f" ({plain(self.detail)})"
        status = "" if self.status == "PUT_OK" else f" with {self.status}"
        asked = SUBJECTS.get(self.f, "").format(self)
        return f"{the(self.node)} is asked {asked} and answers{status}{found}{content}"
