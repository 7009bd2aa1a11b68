"""Client calls, their outcomes, and consumers."""

from __future__ import annotations

from typing import Literal

from ..history import Event, column
from ..texts.content import level_of, payload
from .text import The, client, count, outcome, plain, span

SENDS = frozenset({"send", "produce"})
"""Calls that store a message."""


class Call(Event):
    """A phase of a client's call."""

    process: int
    op: int
    f: str
    """send, produce (a send by a producer that chooses queues and retries), pull, select (a pull by tags), commit (of a
    group's progress), query (of it), topic or group (an administrator creates or changes one: ``message`` is its name),
    delete-topic or delete-group (deletes one).
    """
    node: str
    """The called node."""
    message: str | None
    queue: str | None
    group: str | None
    """For a consumer."""
    waits: int | None = column("value")
    """For send and produce: 1 waits, 0 does not."""
    asked_from: int | None = column("value")
    """For pull and select: the requested offset."""
    carried: int | None = column("value")
    """For commit: 1 if a pull carries it."""
    queue_offset: int | None
    """For commit: the group's progress."""
    broker: int | None
    """The id that a consumer chose from its route."""
    detail: str | None
    """The answer's remark."""

    def words(self, the: The) -> str:
        return f"{_ended(self, the)}{_remark(self)}"


class Invoke(Call):
    """A client began a call."""

    detail: str | None
    """JSON. Send: body (digest), flag, tags; level if delayed; half, compressed, more (not the last of a batch) if so.
    Produce also: how the queue is chosen, producer, tries (at most), within (ms for all tries). Pull, select:
    tags, and the most messages unless 32. Topic, group: content. Delete-group: progress (whether it goes, too)."""

    def words(self, the: The) -> str:
        node, who = the(self.node), client(self)
        match self.f:
            case "pull" | "select":
                return f"{who}: {self.f} of {self.queue} from {node}, from {count(self.asked_from)} on{_of_tags(self)}"
            case "commit":
                riding = ", riding on a pull" if self.carried else ""
                return f"{who}: commit of {count(self.queue_offset)} in {self.queue} to {node}{riding}"
            case "query":
                return f"{who}: asks {node} for its group's progress in {self.queue}"
            case "topic" | "group":
                return f"{who}: asks {node} to set {self.f} {self.message}: {plain(self.detail)}"
            case "delete-topic" | "delete-group":
                return f"{who}: asks {node} to {self.f.replace('-', ' ')} {self.message}"
        queue = "" if self.queue is None else f", queue {self.queue}"
        return f"{who}: {_named(self)} to {node}{queue}{self._manner()}"

    def _manner(self) -> str:
        if self.f not in SENDS or self.waits is None:
            return ""
        level = level_of(self)
        held = f", delayed by level {level}" if level else ""
        return f" ({'waits for the store' if self.waits else 'does not wait'}{held})"


class Ok(Call):
    """The call succeeded."""

    caused_by = "op"
    status: str
    queue_offset: int | None
    """For send its position; for pull and select the next offset; for query none if the broker has none."""
    lo: int | None
    """For send the beginning of its record; for pull the queue's first logical offset in the answer."""
    hi: int | None
    """For send the end of its record; for pull the queue's next logical offset in the answer."""
    broker: int | None
    """For pull: the suggested broker id of the next one."""

    def words(self, the: The) -> str:
        return f"{_ended(self, the)}{self._found()}{_remark(self)}"

    def _found(self) -> str:
        if self.f == "query":
            return f": {count(self.queue_offset)}"
        if self.f not in ("pull", "select"):
            # An answer without the end of its record has the beginning.
            return "" if self.lo is None else f" at {span(self) if self.hi is not None else f'offset {self.lo:,}'}"
        if self.queue_offset is None:
            return ""
        held = "" if self.lo is None else f", whose queue holds [{count(self.lo)}, {count(self.hi)})"
        suggested = "" if self.broker is None else f"; next from broker {self.broker}"
        return f": go on at {count(self.queue_offset)}{held}{suggested}"


class Fail(Call):
    """The call certainly failed."""

    caused_by = "op"
    status: str
    """The response code's name."""


class Info(Call):
    """The call's result is unknown."""

    caused_by = "op"
    status: str
    """timeout, disconnected; unreadable answer: ``detail`` has the error."""


class Try(Event):
    """A producer that chooses queues began one of a produce's tries, or that try ended."""

    process: int
    op: int
    """The produce's."""
    f: Literal["began", "ok", "fail", "info"]
    node: str
    """The called node."""
    message: str
    queue: str
    status: str | None
    """Its end: the response code's name; else timeout, disconnected, refused, one-way."""
    remark: str | None = column("detail")
    """The answer's; at the beginning JSON: names (how many brokers have queues of the topic, as the producer knows) and
    queues (their number).
    """

    def words(self, the: The) -> str:
        what = f"{client(self)}: try of {self.message} at {the(self.node)}, queue {self.queue}"
        return f"{what}, begins" if self.f == "began" else f"{what}: {self.status}"


class Deliver(Event):
    """One message of a pull's answer."""

    caused_by = "op"
    process: int
    op: int
    f: Literal["pull", "select"]
    node: str
    message: str | None
    queue: str
    queue_offset: int
    lo: int
    hi: int
    digest: int
    group: str | None
    times: int | None = column("value")
    """How often consumers have sent it back; none: never."""

    def words(self, the: The) -> str:
        place = f"{self.queue} at {self.queue_offset}" if self.queue else f"queue offset {self.queue_offset}"
        return f"{client(self)}: received {self.message} from {self.node}, {place}"


class Consumer(Event):
    """A consumer joined or left."""

    process: int
    group: str
    status: Literal["on", "off", "lost"]
    """lost: its process died."""
    f: Literal["clustering", "orderly", "broadcasting"]
    """orderly: clustering, and a queue is consumed only while its lock is held."""
    broker: int | None
    """When it joins, the id that its user fixed; none: it follows the brokers' suggestions."""
    detail: str | None
    """JSON, when it joins: tags that it subscribes to; none: all."""

    def words(self, the: The) -> str:
        if self.status == "on":
            return f"{client(self)} joins ({self.f}{_of_tags(self)})"
        return f"{client(self)} {'dies' if self.status == 'lost' else 'leaves'}"


class Assign(Event):
    """A consumer took a queue (on) or released it (off)."""

    process: int
    group: str
    node: str | None
    """The master of another broker name, if the queue is not the pair's."""
    queue: str
    status: Literal["on", "off"]
    offset: int = column("value")
    """Its next offset."""

    def words(self, the: The) -> str:
        queue = f"{self.queue}{f' of {the(self.node)}' if self.node else ''}"
        if self.status == "on":
            return f"{client(self)} takes {queue} and continues at {count(self.offset)}"
        return f"{client(self)} releases {queue} at {count(self.offset)}"


class Route(Event):
    """A client learned the route of its topic."""

    process: int
    group: str | None
    status: Literal["found", "none"]
    detail: str | None
    """JSON: broker id to node, of the pair's broker name."""

    def words(self, the: The) -> str:
        if self.status != "found":
            return f"{client(self)} learns that its topic has no route"
        return f"{client(self)} learns its route: {brokers(self.detail) or 'no broker'}"


def brokers(detail: str | None) -> str:
    """The nodes of a route, by broker id."""
    return ", ".join(f"{node} ({number})" for number, node in payload(detail).items())


def _of_tags(event: Event) -> str:
    tags = payload(event.detail).get("tags")
    return f", of tags {tags}" if tags else ""


def _named(call: Call) -> str:
    return f"{call.f} {call.message}" if call.message else call.f


def _ended(call: Call, the: The) -> str:
    """The subject and the end of a call."""
    node, subject = the(call.node), _named(call)
    match call.f:
        case "pull" | "select":
            subject = f"{call.f} of {call.queue} from {node}"
        case "commit":
            subject = f"commit of {count(call.queue_offset)} in {call.queue} to {node}"
        case "query":
            subject = f"question to {node} for its group's progress in {call.queue}"
        case "topic" | "group":
            subject = f"setting {call.f} {call.message} at {node}"
        case "delete-topic" | "delete-group":
            subject = f"request to {call.f.replace('-', ' ')} {call.message} at {node}"
    return f"{client(call)}: {subject} {outcome(call)}"


def _remark(call: Call) -> str:
    return f" ({call.detail})" if call.detail else ""
