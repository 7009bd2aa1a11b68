"""Clients' calls, consumers and tables in words: the part of :mod:`pairproof.reports.events` that whole trials add."""

from __future__ import annotations

import json

from pairproof.harness.content import level_of
from pairproof.harness.history import Event
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.naming import the

MOST = 160
"""Characters of a table's content that are told."""

OUTCOMES = {"ok": "answered", "fail": "refused with", "info": "outcome unknown:"}


def asked(event: Event) -> str:
    """A call begins."""
    node, queue, who = the(event.node), event.queue, client(event)
    if event.f == "pull":
        return f"{who}: pull of {queue} from {node}, from {_n(event.value)} on"
    if event.f == "commit":
        riding = ", riding on a pull" if event.value else ""
        return f"{who}: commit of {_n(event.queue_offset)} in {queue} to {node}{riding}"
    if event.f == "query":
        return f"{who}: asks {node} how far its group is in {queue}"
    if event.f in ("topic", "group"):
        return f"{who}: asks {node} to set {event.f} {event.message}: {plain(event.detail)}"
    return f"{who}: {event.f}{_message(event)} to {node}, queue {queue}{_manner(event)}"


def _manner(event: Event) -> str:
    if event.f != "send" or event.value is None:
        return ""
    level = level_of(event)
    held = f", to be held back for level {level}" if level else ""
    return f" ({'waits for the store' if event.value else 'does not wait'}{held})"


def answered(event: Event) -> str:
    """A call ended."""
    remark = f" ({event.detail})" if event.detail else ""
    said = f"{client(event)}: {_subject(event)} {outcome(event)}"
    if event.kind != "ok":
        return f"{said}{remark}"
    if event.f == "pull":
        return f"{said}{_goes_on(event)}{remark}"
    if event.f == "query":
        known = "unknown" if event.queue_offset is None else _n(event.queue_offset)
        return f"{said}: {known}{remark}"
    where = "" if event.lo is None else f" at {_range(event)}"
    return f"{said}{where}{remark}"


def status(event: Event) -> str:
    """The status of a call that ended: code 0 has its name from sends, and means success to all others."""
    return "OK" if event.status == "PUT_OK" and event.f != "send" else str(event.status)


def outcome(event: Event) -> str:
    """How a call ended, behind its subject."""
    if event.kind == "invoke":
        return "never answered"
    return "found nobody there" if event.status == "refused" else f"{OUTCOMES[event.kind]} {status(event)}"


def _subject(event: Event) -> str:
    if event.f == "pull":
        return f"pull of {event.queue} from {the(event.node)}"
    if event.f == "commit":
        return f"commit of {_n(event.queue_offset)} in {event.queue} to {the(event.node)}"
    if event.f == "query":
        return f"question to {the(event.node)} how far its group is in {event.queue}"
    if event.f in ("topic", "group"):
        return f"setting {event.f} {event.message} at {the(event.node)}"
    return f"{event.f}{_message(event)}"


def _goes_on(event: Event) -> str:
    if event.queue_offset is None:
        return ""
    held = "" if event.lo is None else f", whose queue holds [{_n(event.lo)}, {_n(event.hi)})"
    suggested = "" if event.broker is None else f"; next from broker {event.broker}"
    return f": go on at {_n(event.queue_offset)}{held}{suggested}"


def delivered(event: Event) -> str:
    """A message reached a client."""
    place = f"{event.queue} at {event.queue_offset}" if event.queue else f"queue offset {event.queue_offset}"
    return f"{client(event)}: received {event.message} from {event.node}, {place}"


def client(event: Event) -> str:
    """Who asks: a consumer of a group, or a plain client."""
    return f"client {event.process}" if event.group is None else f"consumer {event.process} of {event.group}"


def consumer(event: Event) -> str:
    """A consumer came or went."""
    who = client(event)
    if event.status == "on":
        return f"{who} comes ({event.f})"
    return f"{who} dies without a word" if event.status == "lost" else f"{who} says goodbye"


def assign(event: Event) -> str:
    """A queue changed hands."""
    queue = f"{event.queue}{f' of {the(event.node)}' if event.node else ''}"
    if event.status == "on":
        return f"{client(event)} takes {queue} and goes on at {_n(event.value)}"
    return f"{client(event)} gives {queue} up at {_n(event.value)}"


def route(event: Event) -> str:
    """A client asked a name server."""
    who = client(event)
    if event.status != "found":
        return f"{who} learns that its topic has no route"
    return f"{who} learns its route: {brokers(event.detail) or 'nobody'}"


def brokers(detail: str | None) -> str:
    """The nodes of a route, by broker id."""
    return ", ".join(f"{node} ({number})" for number, node in _object(detail).items())


def table(event: Event) -> str:
    """A table was read."""
    content = event.detail or "{}"
    content = content if len(content) <= MOST else f"{content[:MOST]}…"
    version = "" if event.value is None else f", version {_n(event.value)}"
    return f"table reader: {event.f} of {event.node}{version}: {content}"


_SYNC = {
    "asked": "{node} asks the master for its {table}",
    "same": "the {table} of {node} are of the master's version; it keeps them",
    "applied": "{node} takes the master's {table} over",
    "failed": "{node} does not get the master's {table}",
}


def sync(event: Event) -> str:
    """A step of a slave's metadata sync."""
    said = _SYNC.get(str(event.status), "{node}: sync of {table}")
    return said.format(node=event.node, table=TABLES.get(str(event.f), event.f))


TABLES = {"topics": "topics", "groups": "groups", "offsets": "consumer offsets", "delays": "delay offsets"}


def persist(event: Event) -> str:
    """A table went to the disk."""
    return f"{event.node} writes its {TABLES.get(str(event.f), event.f)} to its disk"


def register(event: Event) -> str:
    """A broker registered, or tried to."""
    if event.status != "ok":
        return f"{event.node} is not answered when it registers with {the(places.NAMES)}"
    told = _object(event.detail)
    said = ", ".join(f"{word} is {node}" for word, node in told.items())
    return f"{event.node} registers with {the(places.NAMES)}{f', which says that {said}' if said else ''}"


def entries(event: Event) -> str:
    """A consume queue was read."""
    return f"store reader: {event.queue} of {event.node} holds [{_n(event.lo)}, {_n(event.hi)})"


def plain(detail: str | None) -> str:
    """A JSON object as ``name value, …``; any other text as it is."""
    try:
        told = json.loads(detail or "{}")
    except ValueError:
        return detail or ""
    if not isinstance(told, dict):
        return str(told)
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in told.items())


def _object(detail: str | None) -> dict[str, object]:
    try:
        told = json.loads(detail or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _message(event: Event) -> str:
    return f" {event.message}" if event.message else ""


def _range(event: Event) -> str:
    return f"[{_n(event.lo)}, {_n(event.hi)})"


def _n(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
