"""Converts a capture of real brokers into one history, so that the same laws judge it as every other run.

One tap saw both ends: each report and frame is recorded for its sender and then, at the same time, for its receiver,
once its last byte has passed; so is each piece of one (RocketMQ sends a frame's header and its body separately). The
master's appends come from its store after the run, dated by the records' store timestamps within the tap's observations
(whole milliseconds, rounded down, so laws get the earlier time). ``source`` is the master's store over each range that
a frame carried.

Brokers start, end, are killed, and are paused (SIGSTOP to SIGCONT, recorded as the fault ``pause`` and as such),
according to the run's event lines (:mod:`pairproof.chaos.observers.capture_events`); invalid lines are reported. After
a pause ``heal`` and ``converged`` are marked when the recorder resumed the broker and then saw both logs end alike. The
stores after the run are audited as of the first broker's last clean end, if no bytes moved after that. A broker starts
no later than its first connection, regardless of its line.

Not observed, hence not recorded: flushes, truncations by recovery, refusals, and a slave's appends. A slave's log is
assumed to reach as far as its received frames, or as far as its next first report, if that is less: unread bytes are
lost with the connection. A damaged master store dates nothing: then there is neither ``append`` nor ``source``, and the
audit reports the damage. Sends are recorded if the producers' connection was captured; omitted ones are counted.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...harness.history import Event, Recorder, digest
from .capture_events import (
    KILL,
    LATE_NS,
    PAUSE,
    RESUME,
    START,
    STOP,
    Happening,
    ParsedEvents,
    Seen,
    read_events,
)
from .capture_folder import MASTER, NOTHING, Capture, Connection, open_capture
from .capture_version import Version, find_version, settings
from .captured_dates import date_records
from .client_capture import ClientCapture, Operation
from .effects import NEVER
from .ha_tap import FrameTap, ReportTap
from .store_folder import open_log
from .store_reader import LogReading, audit, read_log

OBSERVES = frozenset(
    {
        "lab", "config", "start", "stop", "pause", "resume", "connect", "close", "report", "frame", "partial", "fault",
        "mark", "crash",
    }
)  # fmt: skip
"""Event types of every capture."""
STORE_KINDS = frozenset({"append", "source"})
"""Additional ones with an undamaged master store."""
AUDIT_KINDS = frozenset({"chunk", "audit"})
"""Additional ones if the stores can be audited."""
CLIENT_KINDS = frozenset({"invoke", "ok", "fail", "info"})
"""Additional ones if a producer's connection to the master was captured."""

CLOSER_WITHIN_NS = 10_000_000_000
"""A broker closes its connections up to this long before its clean end is noticed (measured: 6.4 s)."""

SLACK_NS = 10_000_000
"""A real machine's delay, for the event ``lab``: a millisecond for the rounding of store timestamps, and three times
the golden capture's maximum of 2.9 ms between a frame's last byte and its report.
"""

End = tuple[str, str]
"""(side, node)"""
Row = dict[str, object]
Dated = tuple[int, str, Row]


class CapturedHistory(NamedTuple):
    """The events; ``observes`` for the judge; ``broken``: streams that are not frames, and where."""

    events: list[Event]
    observes: frozenset[str]
    configs: dict[str, dict[str, str | int]]
    connections: list[Connection]
    links: dict[str, str]
    """By connection: its link's name in the history."""
    broken: list[str]
    left_out: dict[str, int]
    cuts: dict[str, int]
    """By connection before which its slave had less than it had been sent: its log's end."""
    reach: dict[str, int]
    """By slave: its log's end if it read all bytes sent to it."""
    lines: ParsedEvents
    version: Version


def read_capture(folder: Path, brought: Mapping[str, Path] = NOTHING) -> CapturedHistory:
    """Read a capture folder as a history; UsageError in one line if it is invalid. ``brought``: as for
    :func:`open_capture`.
    """
    return _Reader(open_capture(folder, brought)).history()


class _Reader:
    """Makes the rows by source, then sorts them by time, stably."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.log: LogReading = read_log(capture.log)
        self.has_log = bool(capture.log) and self.log.whole
        self.links = {each.name: f"ha:{number}" for number, each in enumerate(capture.connections, 1)}
        self.received: list[tuple[int, str, int, int]] = []
        self.shown: list[tuple[int, int]] = []
        """(end, time) of frames whose bytes are in the master's log now."""
        self.appended: dict[int, int] = {}
        """By a record's start in the master's log: its time."""
        self.broken: list[str] = []
        self.lines = read_events(capture.events, capture.configs, capture.others, self._seen())
        self.cuts: dict[str, int] = {}
        self.reach: dict[str, int] = {}

    def history(self) -> CapturedHistory:
        capture = self.capture
        clients = ClientCapture(capture.folder, {each.lo: each.hi for each in self.log.records}, capture.is_complete)
        version = find_version(capture.rocketmq, clients.versions, str(capture.folder / "run.json"))
        configs = {node: settings(each, version) for node, each in capture.configs.items()}
        ha = [row for each in capture.connections for row in self._connection(each)]
        self.appended = date_records(self.log.records, capture.clock, clients.operations, self.shown)
        rows = [
            _lab(capture.slack),
            *self._stalls(),
            *_configs(configs),
            *self._nodes(),
            *self._appends(),
            *ha,
            *self._marks(),
        ]
        early = {each.op for each in clients.operations if each.t < capture.unseen_until and each.phase == "invoke"}
        rows += [_client_row(each) for each in clients.operations if each.op not in early]
        rows.append((max(capture.ended or 0, *(t for t, _, _ in rows)), "mark", {"f": "end"}))
        rows.sort(key=lambda each: each[0])
        audited = self._audit_time(rows)
        recorder = Recorder()
        for t, kind, row in rows:
            if audited is not None and t >= audited:
                self._audit(recorder, audited)
                audited = None
            recorder.add(t, kind, **row)
        judges_clients = clients.files and not capture.unseen
        observes = OBSERVES | (STORE_KINDS if self.has_log else set()) | (CLIENT_KINDS if judges_clients else set())
        if any(each.kind == "audit" for each in recorder.events):
            observes |= AUDIT_KINDS
        if capture.stalls is not None:
            observes |= {"stall"}
        left_out = {what: count for what, count in clients.left_out.items() if count}
        if early:
            left_out["sends that began before the slave came through the tap"] = len(early)
        if clients.files and capture.unseen:
            left_out["HA connections were not recorded, so what producers were told is not judged"] = capture.unseen
        if missing := [node for node in configs if not (capture.folder / "store" / node).is_dir()]:
            left_out[f"stores, since they are not there ({', '.join(missing)})"] = len(missing)
        return CapturedHistory(
            recorder.events, observes, configs, capture.connections, self.links, self.broken, left_out,
            self.cuts, self.reach, self.lines, version,
        )  # fmt: skip

    def _stalls(self) -> Iterator[Dated]:
        for each in self.capture.stalls or ():
            yield each.at, "stall", {"f": "tap", "value": each.lasted, "detail": each.how}

    # Nodes: the run's event lines.

    def _seen(self) -> dict[str, Seen]:
        """By broker: times of its sends on HA connections, and of these connections."""
        found: dict[str, Seen] = defaultdict(lambda: Seen([], []))
        for each in self.capture.connections:
            for node in (MASTER, each.node):
                found[node].stood.append((each.opened, each.closed, each.closed_by == node))
            for t, direction, _ in each.segments:
                found[MASTER if direction == "m2s" else each.node].sent.append(t)
        for seen in found.values():
            seen.sent.sort()
        return found

    def _nodes(self) -> Iterator[Dated]:
        incarnations: dict[str, int] = {}
        ends: dict[str, Happening] = {}
        pauses: dict[str, int] = {}
        for each in self.lines.happenings:
            t, node = each.t, each.node
            if each.what == START:
                incarnations[node] = incarnations.get(node, 0) + 1 if each.number is None else each.number + 1
                yield self._start(each, incarnations[node], ends.pop(node, None))
                continue
            who: Row = {"node": node, "incarnation": incarnations.get(node)}
            if each.what in (PAUSE, RESUME):
                yield t, "fault", _pause(node, each.what == PAUSE, pauses)
                yield t, "pause" if each.what == PAUSE else "resume", who
                continue
            ends[node] = each
            yield (t, "stop", who) if each.what == STOP else (t, "crash", {**who, "f": "process", "value": 0})

    def _start(self, each: Happening, incarnation: int, ended: Happening | None) -> Dated:
        node, since = each.node, ended.t if ended is not None else 0
        # Its line may be written after its first connection.
        opened = (one.opened for one in self.capture.connections if one.node == node and since <= one.opened < each.t)
        t = min(opened, default=each.t)
        who: Row = {"node": node, "incarnation": incarnation}
        if not each.known or (node == MASTER and not self.has_log):
            return t, "start", who
        lo, hi = self._held(node, t)
        f = "empty" if hi == 0 else "normal" if ended is not None and ended.what == STOP else "abnormal"
        return t, "start", {**who, "f": f, "lo": lo, "hi": hi}

    def _held(self, node: str, t: int) -> tuple[int, int]:
        """The log of a node that starts at ``t``: its earlier appends or received bytes."""
        if node == MASTER:
            held = [each for each in self.log.records if self.appended[each.lo] < t]
            return (self.log.start, held[-1].hi) if held else (0, 0)
        ranges = [(lo, hi) for at, slave, lo, hi in self.received if slave == node and at < t]
        if not ranges:
            return 0, 0
        following = next((each.name for each in self.capture.connections if each.node == node and each.opened >= t), "")
        lo, hi = ranges[0][0], self.cuts.get(following, ranges[-1][1])
        return (lo, hi) if hi > lo else (0, 0)

    def _cut(self, connection: Connection) -> None:
        """Sent bytes need not be read: a slave's next first report shows how many were.

        The kind of end does not matter: unread bytes are lost with the connection.
        """
        first = next(iter(ReportTap().feed(connection.stream("s2m"))), None)
        if first is not None and 0 <= first < self.reach.get(connection.node, 0):
            self.cuts[connection.name] = self.reach[connection.node] = first

    def _marks(self) -> Iterator[Dated]:
        """A pause is a fault that ends; the next time at which both logs were seen equal is its convergence."""
        resumed = [each.t for each in self.lines.happenings if each.what == RESUME and each.known]
        for number, t in enumerate(resumed):
            yield t, "mark", {"f": "heal"}
            until = resumed[number + 1] if number + 1 < len(resumed) else None
            seen = (at for at in self.lines.in_sync if at >= t and (until is None or at < until))
            converged = next(seen, None)
            if converged is not None:
                yield converged, "mark", {"f": "converged"}

    # The stores after the run.

    def _audit_time(self, rows: list[Dated]) -> int | None:
        """Start of the first broker's last clean end, if no bytes entered a log or left the master later."""
        stops = {str(row["node"]): t for t, kind, row in rows if kind == "stop"}
        moved = [t for t, kind, row in rows if kind == "append" or (kind == "frame" and row["lo"] != row["hi"])]
        if MASTER not in stops or not self.capture.log or min(stops.values()) <= max(moved, default=0):
            return None
        return min(stops.values())

    def _audit(self, recorder: Recorder, t: int) -> None:
        incarnations = {e.node: e.incarnation for e in recorder.events if e.kind == "start"}
        others = sorted({each.node for each in self.capture.connections})
        for number, node in enumerate(others, 1):
            store = self.capture.folder / "store" / node
            if not store.is_dir():
                continue
            # The sent bytes determine the logs' required end; a damaged log alone would end early.
            was_killed = self.lines.last_of(node) == KILL
            received = None if was_killed else self.reach.get(node)
            master = self.log if self.log.whole else read_log(self.capture.log, received)
            readings = {MASTER: master, node: read_log(open_log(store), received)}
            lo = max(each.start for each in readings.values())
            hi = min(each.end for each in readings.values())
            for name, reading in readings.items():
                audit(recorder, t, number, "final", name, incarnations.get(name), reading, lo, hi, records=False)

    # The master's log.

    def _appends(self) -> Iterator[Dated]:
        fillers = {each.hi: each for each in self.log.fillers}
        ended = NEVER if self.capture.ended is None else self.capture.ended
        for each in self.log.records if self.has_log else ():
            t = self.appended[each.lo]
            if t > ended:
                # Brokers continue after the recording's end, unobserved.
                return
            filler = fillers.get(each.lo)
            if filler is not None:
                yield t, "append", self._append(filler.lo, filler.hi, "filler", None)
            yield t, "append", self._append(each.lo, each.hi, "put", each.unique_key)

    def _append(self, lo: int, hi: int, f: str, message: str | None) -> Row:
        known = digest(self.log.read(lo, hi))
        return {"node": MASTER, "incarnation": 1, "f": f, "message": message, "lo": lo, "hi": hi, "digest": known}

    # The HA connections.

    def _connection(self, connection: Connection) -> Iterator[Dated]:
        self._cut(connection)
        link, slave = self.links[connection.name], connection.node
        frames, reports = FrameTap(), ReportTap()
        for side in "ms":
            yield connection.opened, "connect", {"node": slave, "link": link, "side": side, "f": "slave"}
        for t, direction, data in connection.segments:
            broken = frames.broken
            if direction == "s2m":
                for offset in reports.feed(data):
                    yield t, "report", {"node": slave, "link": link, "side": "s", "hi": offset}
                    yield t, "report", {"node": MASTER, "link": link, "side": "m", "hi": offset}
                if reports.pending:
                    yield from _partial(t, link, ("s", slave), ("m", MASTER), reports)
            else:
                for offset, body in frames.feed(data):
                    yield from self._frame(t, slave, link, offset, body)
                if frames.pending or frames.broken != broken:
                    yield from _partial(t, link, ("m", MASTER), ("s", slave), frames)
        if frames.broken is not None:
            self.broken.append(f"{connection.name}: {frames.broken}")
        yield from self._close(connection, frames.pending or reports.pending or None)

    def _frame(self, t: int, slave: str, link: str, lo: int, body: bytes) -> Iterator[Dated]:
        hi = lo + len(body)
        row: Row = {"link": link, "lo": lo, "hi": hi, "digest": digest(body)}
        yield t, "frame", {**row, "node": MASTER, "side": "m"}
        if body:
            self.received.append((t, slave, lo, hi))
            self.reach[slave] = max(hi, self.reach.get(slave, 0))
        if body and self.has_log:
            stored = digest(self.log.read(lo, hi))
            if stored == row["digest"]:
                self.shown.append((hi, t))
            yield t, "source", {"node": MASTER, "link": link, "lo": lo, "hi": hi, "digest": stored}
        yield t, "frame", {**row, "node": slave, "side": "s"}

    def _close(self, connection: Connection, unfinished: int | None) -> Iterator[Dated]:
        if connection.closed is None:
            return
        closer = connection.closed_by or self._ended_soon_after(connection, connection.closed)
        if not any(each.node == closer and each.known for each in self.lines.happenings):
            # Its process was not observed: it may have been killed, without a reason.
            closer = ""
        for side, node in (("m", MASTER), ("s", connection.node)):
            row = {"node": node, "link": self.links[connection.name], "side": side, "value": unfinished}
            yield connection.closed, "close", {**row, "f": "local" if node == closer else "peer"}

    def _ended_soon_after(self, connection: Connection, closed: int) -> str:
        """The closing broker: the one that ended soonest after, else the slave."""
        for each in self.lines.happenings:
            if each.node in (MASTER, connection.node) and each.what in (STOP, KILL):
                # A killed process closes at once, and its line may be written shortly before or after.
                early, late = (0, CLOSER_WITHIN_NS) if each.what == STOP else (LATE_NS, LATE_NS)
                if closed - early <= each.t <= closed + late:
                    return each.node
        return connection.node


def _configs(configs: dict[str, dict[str, str | int]]) -> Iterator[Dated]:
    for node, each in configs.items():
        yield 0, "config", {"node": node, "detail": json.dumps(each, sort_keys=True)}


def _lab(slack: int | None) -> Dated:
    late = SLACK_NS if slack is None else slack
    return 0, "lab", {"f": "capture", "value": late, "detail": json.dumps({"instantNs": late})}


def _partial(t: int, link: str, sender: End, receiver: End, tap: FrameTap | ReportTap) -> Iterator[Dated]:
    row: Row = {"link": link, "value": tap.pending, "lo": tap.announced}
    if tap.broken is not None:
        row["detail"] = f"broken: {tap.broken}"
    for (side, node), f in ((sender, "out"), (receiver, "in")):
        yield t, "partial", {**row, "side": side, "node": node, "f": f}


def _pause(node: str, begins: bool, pauses: dict[str, int]) -> Row:
    if begins:
        pauses[node] = len(pauses)
    row: Row = {"op": pauses.get(node, 0), "f": "pause", "node": node, "status": "on" if begins else "off"}
    return row if begins else {**row, "value": 1, "detail": json.dumps({"processes_paused": 1})}


def _client_row(each: Operation) -> Dated:
    row = {**each._asdict(), "node": MASTER, "f": "send"}
    return row.pop("t"), row.pop("phase"), row
