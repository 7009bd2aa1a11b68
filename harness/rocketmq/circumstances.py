"""Circumstances of known deviations of RocketMQ: conditions on a violation in its trial.

Each is computed from the history alone. Without a trace of a master's appends, only a lower bound of its log end is
known, from its answers; then a report counts as ahead only after the master has lost bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..history import MS, Event
from ..judging.law import Violation
from .known.metadata import CHANGES
from .known.model import Known
from .known.replay import before
from .topology import MASTER, SLAVES

JUST_NS = 2_000 * MS
FIRST, LATER, EXPIRED = "first", "later", "expired"
"""Classes of reports outside the log: a connection's first, above the master's log end; a later one; a first one below
its start.
"""


def first_report_ahead(events: Sequence[Event], violation: Violation) -> bool:
    """A connection's first report was above the master's log end (the violation's connection, if it has one)."""
    return _has(events, violation, (FIRST,))


def report_ahead(events: Sequence[Event], violation: Violation) -> bool:
    """Any report was above the master's log end."""
    return _has(events, violation, (FIRST, LATER))


def first_report_expired(events: Sequence[Event], violation: Violation) -> bool:
    """A connection's first report was below the master's log start (the violation's connection, if it has one)."""
    return _has(events, violation, (EXPIRED,))


def bare_connection(events: Sequence[Event], violation: Violation) -> bool:
    """During the call the master had a connection without a valid report."""
    op = next((each.op for each in events if each.seq == violation.seq), None)
    begun = next((each.seq for each in events if each.kind == "invoke" and each.op == op), None)
    if op is None or begun is None:
        return False
    bare: set[str | None] = set()
    for each, odd in _reports(events, violation.seq):
        if each.kind == "connect":
            bare.add(each.link)
        elif (each.kind == "close" and each.seq < begun) or (each.kind == "report" and not odd):
            bare.discard(each.link)
        elif each.kind in ("crash", "stop") and each.seq < begun:
            bare.clear()
    return bool(bare)


def answered_on_read_only_disk(events: Sequence[Event], violation: Violation) -> bool:
    """The message was answered while the master's disk accepted no writes."""
    if violation.message is None:
        return False
    sends = (each for each in events if each.kind == "ok" and each.f == "send" and each.message == violation.message)
    answer = next(sends, None)
    if answer is None:
        return False
    active = before(events, answer.seq, "fault").disturbances.active.values()
    return any(each.f == "read_only" and each.node == MASTER for each in active)


def file_sizes_differ(events: Sequence[Event], violation: Violation) -> bool:
    """A slave's log files have another size than its master's."""
    sizes: dict[bool, set[object]] = {True: set(), False: set()}
    for each in events:
        if each.kind == "config":
            size = json.loads(each.detail or "{}").get("mappedFileSizeCommitLog")
            sizes[each.node in SLAVES] |= {size} - {None}
    return bool(sizes[True] and sizes[False] and sizes[True] != sizes[False])


def slave_changed(events: Sequence[Event], violation: Violation) -> bool:
    """An administrator has changed the topics or groups of a slave."""
    return any(
        each.kind == "ok" and each.f in CHANGES and each.node not in (None, MASTER) and each.seq <= violation.seq
        for each in events
    )


def just_started(events: Sequence[Event], violation: Violation) -> bool:
    """The broker had started less than two seconds before."""
    node, known = _concerned(events, violation)
    return node in known.nodes.started_at and violation.t - known.nodes.last_start(node) < JUST_NS


def lost_power(events: Sequence[Event], violation: Violation) -> bool:
    """The broker's machine had lost power, and the broker was not up since."""
    node, known = _concerned(events, violation)
    return known.nodes.lost_power(node)


def stopped_before_power_loss(events: Sequence[Event], violation: Violation) -> bool:
    """A master was stopped in order, and its machine lost power at some time after that."""
    stopped = False
    for each in events:
        if each.seq > violation.seq:
            break
        if each.node == MASTER and each.kind == "crash" and each.f == "machine" and stopped:
            return True
        stopped = stopped or (each.node == MASTER and each.kind == "stop")
    return False


def _concerned(events: Sequence[Event], violation: Violation) -> tuple[str, Known]:
    node = next((each.node for each in events if each.seq == violation.seq), None)
    return node or "", before(events, violation.seq, "start", "crash", "stop")


def _has(events: Sequence[Event], violation: Violation, which: tuple[str, ...]) -> bool:
    link = next((each.link for each in events if each.seq == violation.seq), None)
    return any(odd in which and link in (None, each.link) for each, odd in _reports(events, violation.seq))


def _reports(events: Sequence[Event], upto: int) -> list[tuple[Event, str]]:
    """The events of the master's HA port, and of the master, up to an event, with the class of reports outside its
    log.
    """
    traced = any(each.kind == "append" and each.node == MASTER for each in events)
    begin, end, lost = 0, 0, False
    spoken: set[str | None] = set()
    found = []
    for each in events:
        if each.seq > upto:
            break
        odd = ""
        if each.node == MASTER and each.kind in ("start", "append"):
            end = each.hi if each.hi is not None else 0 if lost else end
            begin = (each.lo or 0) if each.kind == "start" else begin
        elif each.node == MASTER and each.kind == "expire":
            begin = each.lo or 0
        elif each.kind == "ok" and each.f == "send" and not traced:
            end = max(end, each.hi or 0)
        elif each.node == MASTER and (each.kind == "wipe" or (each.kind == "crash" and each.f == "machine")):
            lost = True
        elif each.kind == "report" and each.side == "m":
            offset = each.hi or 0
            if offset > end and (traced or lost):
                odd = LATER if each.link in spoken else FIRST
            elif offset and offset < begin and each.link not in spoken:
                odd = EXPIRED
            spoken.add(each.link)
        if each.kind in ("crash", "stop") and each.node == MASTER:
            found.append((each, ""))
        elif each.side == "m" and each.kind in ("connect", "close", "report"):
            found.append((each, odd))
    return found


CIRCUMSTANCES = {
    "first-report-ahead": first_report_ahead,
    "report-ahead": report_ahead,
    "first-report-expired": first_report_expired,
    "bare-connection": bare_connection,
    "answered-on-read-only-disk": answered_on_read_only_disk,
    "file-sizes-differ": file_sizes_differ,
    "slave-changed": slave_changed,
    "just-started": just_started,
    "lost-power": lost_power,
    "stopped-before-power-loss": stopped_before_power_loss,
}
