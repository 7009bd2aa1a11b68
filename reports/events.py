"""History rows of a table, back as :class:`~pairproof.harness.history.Event` tuples, and in words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from pairproof.harness.history import FIELDS, Event
from pairproof.harness.rocketmq.naming import the
from pairproof.harness.trouble import told
from pairproof.reports import calls
from pairproof.reports.calls import plain

COLUMNS = tuple(each.name for each in FIELDS)

make_event = partial(tuple.__new__, Event)
"""An event from a row of values in column order, without the cost of a Python-level constructor."""


def events_of(rows: pa.Table | pa.RecordBatch) -> Iterator[Event]:
    """The events of history rows, in the order of the rows."""
    # Whole columns zipped: a dictionary for each row would cost an order of magnitude more.
    return map(make_event, zip(*(rows.column(name).to_pylist() for name in COLUMNS), strict=True))


def words(event: Event) -> str:
    """What happened, as a sentence for somebody who does not know the history's columns."""
    say = _SAY.get(event.kind)
    return say(event) if say is not None else f"{event.kind} {event.detail or ''}".strip()


def amount(size: int | None) -> str:
    """A number of bytes."""
    return "unknown size" if size is None else f"{size:,} byte{'' if size == 1 else 's'}"


def _n(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _range(event: Event) -> str:
    if event.lo is None or event.hi is None:
        return "at an unknown offset"
    return f"[{_n(event.lo)}, {_n(event.hi)})"


def _frame(event: Event) -> str:
    what = "a heartbeat" if event.lo == event.hi else "a frame"
    seen = f"left the master on {event.link}" if event.side == "m" else f"reached {_peer(event)} on {event.link}"
    return f"{what} {_range(event)} {seen}" if event.lo != event.hi else f"{what} for offset {_n(event.lo)} {seen}"


def _report(event: Event) -> str:
    seen = f"reached the master on {event.link}" if event.side == "m" else f"left {_peer(event)} on {event.link}"
    return f"a report of offset {_n(event.hi)} {seen}"


def _append(event: Event) -> str:
    what = (
        f"message {event.message}" if event.message else {"filler": "an end-of-file filler"}.get(str(event.f), "bytes")
    )
    return f"{event.node} appended {what} {_range(event)}"


def _fault(event: Event) -> str:
    if event.status == "on":
        return f"fault {event.f} begins: {plain(event.detail)}".rstrip(": ")
    did = plain(event.detail) if event.value else "it hit nothing"
    return f"fault {event.f} ends: {did}"


def _start(event: Event) -> str:
    log = "" if event.hi is None else f", log {_range(event)}"
    return f"{event.node} starts {_RECOVERY.get(str(event.f), '')}{log}"


def _crash(event: Event) -> str:
    how = {"machine": "lost power", "process": "was killed"}.get(str(event.f), "went down")
    if event.status in _BY_ITSELF:
        return f"{event.node} {_BY_ITSELF[event.status]}: {event.detail}"
    lied = ", which its disk had called durable" if event.status == "lied" else ""
    return f"{event.node} {how}; {amount(event.value or 0)} of its log lost{lied}"


def _abort(event: Event) -> str:
    how = {"refused": "refuses its store", "stuck": "starts without end"}.get(str(event.f), "does not come up")
    disk = "; its disk is failing it" if event.status == "disk" else ""
    return f"{event.node} {how}: {event.detail}{disk}"


def _wipe(event: Event) -> str:
    if event.detail is not None:
        return f"{event.node} has the store that was {event.detail}'s, whose log ends at {_n(event.hi)}"
    if event.f == "image":
        return f"the store of {event.node} is replaced by an older image of it, whose log ends at {_n(event.hi)}"
    return f"the store of {event.node} is replaced by an empty one"


def _partial(event: Event) -> str:
    what = "a report" if (event.side == "m") == (event.f == "in") else "a frame"
    at = f" for offset {_n(event.lo)}" if event.lo is not None else ""
    done = "left" if event.f == "out" else "reached"
    return f"only {amount(event.value)} of {what}{at} {done} the {_end(event)} end of {event.link} so far"


def _clock(event: Event) -> str:
    ahead = event.value or 0
    return f"the clock of {event.node} is set {abs(ahead):,} ms {'behind' if ahead < 0 else 'ahead of'} the true time"


_BY_ITSELF = {
    "own": "ended by itself", "disk": "ended, since its disk was failing it", "stuck": "went on without end",
}  # fmt: skip
"""By a crash's status: what nobody from outside was behind."""

_MARKS = {
    "warm": "the pair is up and one message is replicated",
    "heal": "every fault has ended",
    "converged": "both logs end alike",
    "unsettled": "the logs did not come to agree in time",
    "end": "the trial ends",
    "probe": "a send that shows whether the pair is alive",
}

_CLOSED = {"local": "by itself", "peer": "by its peer", "reset": "reset"}

_RECOVERY = {"empty": "with an empty store", "normal": "after a clean stop", "abnormal": "after a crash"}

_SAY: dict[str, Any] = {
    "lab": lambda e: f"the trial begins in lab {e.f}",
    "config": lambda e: f"{e.node} is configured",
    "start": _start,
    "crash": _crash,
    "abort": _abort,
    "stop": lambda e: f"{e.node} stops",
    "cut": lambda e: f"recovery of {e.node} ends the log at {_n(e.lo)}, earlier than {_n(e.hi)}",
    "wipe": _wipe,
    "expire": lambda e: f"{e.node} deletes its oldest files; its log starts at {_n(e.lo)} now",
    "pause": lambda e: f"{e.node} is paused, as by SIGSTOP",
    "resume": lambda e: f"{e.node} goes on",
    "stall": lambda e: f"the machine is late: {told(e)}",
    "clock": _clock,
    "partial": _partial,
    "append": _append,
    "flush": lambda e: f"{e.node} flushed its log up to {_n(e.hi)}",
    "connect": lambda e: f"connection {e.link} opened at the {_end(e)} end by {_peer(e)}",
    "close": lambda e: f"connection {e.link} closed at the {_end(e)} end ({_CLOSED.get(str(e.f), e.f)})",
    "report": _report,
    "frame": _frame,
    "source": lambda e: f"store reader: the digest of the {e.node}'s log {_range(e)}",
    "diverged": lambda e: f"the master refuses {e.link}: reported {_n(e.hi)}, its own log ends at {_n(e.value)}",
    "invoke": calls.asked,
    "ok": calls.answered,
    "fail": calls.answered,
    "info": calls.answered,
    "deliver": calls.delivered,
    "consumer": calls.consumer,
    "assign": calls.assign,
    "route": calls.route,
    "garbled": lambda e: f"the {e.f} of {e.node} cannot be read: {e.detail}",
    "table": calls.table,
    "sync": calls.sync,
    "persist": calls.persist,
    "register": calls.register,
    "dispatch": lambda e: f"{e.node} has derived its queues from its log up to {_n(e.hi)}",
    "entries": calls.entries,
    "keys": lambda e: f"store reader: the key index of {e.node} is asked for {e.message}",
    "record": lambda e: f"store reader: {e.node} holds {e.message or 'a record'} {_range(e)}",
    "chunk": lambda e: f"store reader: the digest of the {e.node}'s log {_range(e)}",
    "audit": lambda e: f"store reader: the {e.node}'s log {_range(e)} is {e.status} ({e.f} audit)",
    "fault": _fault,
    "mark": lambda e: _MARKS.get(str(e.f), str(e.f)),
}


def _peer(event: Event) -> str:
    """Who is at the far end of an HA connection."""
    if "hostile" in (event.node, event.f):
        return "the hostile peer"
    return the("slave" if event.node in (None, "master") else event.node)


def _end(event: Event) -> str:
    return "master's" if event.side == "m" else "slave's"
