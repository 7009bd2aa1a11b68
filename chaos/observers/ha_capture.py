"""A capture of real brokers as one history, so that the same laws judge it that judge every other run.

One tap saw both ends: each report and frame is recorded for the end that sent it and then, at the same time, for the
end that received it, as soon as its last byte has passed; so is each piece of one (RocketMQ sends a frame's header and
its body apart). What the master appended comes from its store after the run, dated by the records' store timestamps
(whole milliseconds, rounded down: a law that asks for more than that is given the earlier time). ``source`` is the
master's store over each range that a frame carried.

Brokers come and go, and are stopped for a while (SIGSTOP to SIGCONT, shown as the fault ``pause`` and as such), as the
run's events say. After a pause ``heal`` and ``converged`` are marked where the recorder resumed the broker and then
saw both logs end alike. The stores after the run are audited as of the first broker's last clean end, if nothing moved
after that.

Not seen by anybody, hence not among the kinds: flushes, recoveries' cuts, refusals, and what a slave appended; a
restarted slave's log is taken to reach as far as the frames that it had received before. A master's store that is not
whole dates nothing: then neither ``append`` nor ``source`` is given, and the audit says what is wrong. Sends are given
where the producers' connection was captured; what of them is left out is counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pairproof.chaos.observers.capture_folder import MASTER, Capture, Connection, open_capture
from pairproof.chaos.observers.client_capture import ClientCapture, Operation
from pairproof.chaos.observers.ha_tap import FrameTap, ReportTap
from pairproof.chaos.observers.store_folder import open_log
from pairproof.chaos.observers.store_reader import LogReading, audit, read_log
from pairproof.chaos.observers.stored_record import LogRecord
from pairproof.harness.history import Event, Recorder, digest

OBSERVES = frozenset(
    {
        "lab", "config", "start", "stop", "pause", "resume", "connect", "close", "report", "frame", "partial", "fault",
        "mark",
    }
)  # fmt: skip
"""What every capture shows."""
STORE_KINDS = frozenset({"append", "source"})
"""What it shows besides where the master's store is whole."""
AUDIT_KINDS = frozenset({"chunk", "audit"})
"""What it shows besides where the stores can be audited."""
CLIENT_KINDS = frozenset({"invoke", "ok", "fail", "info"})
"""What it shows besides where a producer's connection to the master was captured."""

STARTED = re.compile(r"(\S+) up \(start (\d+)")
STOPPED = re.compile(r"(\S+) ended cleanly")
PAUSED = re.compile(r"(\S+) SIG(STOP|CONT)$")
IN_SYNC = re.compile(r"in sync\b")
CLOSER_WITHIN_NS = 10_000_000_000
"""A broker closes its connections up to this long before its clean end is noticed (measured: 6.4 s)."""

SLACK_NS = 10_000_000
"""What a real machine adds to a time, as the event ``lab`` says it: a millisecond by which store timestamps are rounded
down, and three times the 2.9 ms that in the golden capture lie at most between a frame's last byte and its report."""

End = tuple[str, str]
"""(side, node)"""
Row = dict[str, object]
Dated = tuple[int, str, Row]


class CapturedHistory(NamedTuple):
    """The events; ``observes`` for the judge; ``broken``: streams that are no frames, and where."""

    events: list[Event]
    observes: frozenset[str]
    configs: dict[str, dict[str, str | int]]
    connections: list[Connection]
    links: dict[str, str]
    """The link's name in the history, by the connection's."""
    broken: list[str]
    left_out: dict[str, int]


def read_capture(folder: Path) -> CapturedHistory:
    """Read a capture folder as a history; UsageError in one line if it is none."""
    return _Reader(open_capture(folder)).history()


class _Reader:
    """Makes the rows by source, then orders them by time; at equal times in the order they were made."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.log: LogReading = read_log(capture.log)
        self.links = {each.name: f"ha:{number}" for number, each in enumerate(capture.connections, 1)}
        self.received: list[tuple[int, str, int, int]] = []
        self.broken: list[str] = []

    def history(self) -> CapturedHistory:
        """Everything, in order."""
        ha = [row for each in self.capture.connections for row in self._connection(each)]
        rows = [_lab(), *self._configs(), *self._nodes(), *self._appends(), *ha, *self._marks()]
        clients = ClientCapture(self.capture.folder, {each.lo: each.hi for each in self.log.records})
        rows += [_client_row(each) for each in clients.operations]
        rows.append((max(t for t, _, _ in rows), "mark", {"f": "end"}))
        rows.sort(key=lambda each: each[0])
        audited = self._audit_time(rows)
        recorder = Recorder()
        for t, kind, row in rows:
            if audited is not None and t >= audited:
                self._audit(recorder, audited)
                audited = None
            recorder.add(t, kind, **row)
        observes = OBSERVES | (STORE_KINDS if self.log.whole else set()) | (CLIENT_KINDS if clients.files else set())
        if any(each.kind == "audit" for each in recorder.events):
            observes |= AUDIT_KINDS
        left_out = {what: count for what, count in clients.left_out.items() if count}
        capture = self.capture
        return CapturedHistory(
            recorder.events, observes, capture.configs, capture.connections, self.links, self.broken, left_out
        )

    def _configs(self) -> Iterator[Dated]:
        for node, settings in self.capture.configs.items():
            yield 0, "config", {"node": node, "detail": json.dumps(settings, sort_keys=True)}

    # Nodes: what the run's events say of them.

    def _nodes(self) -> Iterator[Dated]:
        running: dict[str, int] = {}
        clean: dict[str, bool] = {}
        pauses: dict[str, int] = {}
        for t, text in self.capture.events:
            node = text.partition(" ")[0]
            if node not in self.capture.configs:
                continue
            if started := STARTED.match(text):
                running[node] = int(started[2]) + 1
                yield t, "start", self._start(node, running[node], t, clean.pop(node, False))
            elif STOPPED.match(text):
                clean[node] = True
                yield t, "stop", {"node": node, "incarnation": running.get(node)}
            elif paused := PAUSED.match(text):
                yield t, "fault", _pause(node, paused[2] == "STOP", pauses)
                yield t, "pause" if paused[2] == "STOP" else "resume", {"node": node, "incarnation": running.get(node)}

    def _start(self, node: str, incarnation: int, t: int, clean: bool) -> Row:
        if node == MASTER and not self.log.whole:
            return {"node": node, "incarnation": incarnation}
        lo, hi = self._held(node, t)
        f = "empty" if hi == 0 else "normal" if clean else "abnormal"
        return {"node": node, "incarnation": incarnation, "f": f, "lo": lo, "hi": hi}

    def _held(self, node: str, t: int) -> tuple[int, int]:
        """The log of a node that starts at ``t``: what it had put, or received, until then."""
        if node == MASTER:
            held = [each for each in self.log.records if self._stored_at(each) < t]
            return (self.log.start, held[-1].hi) if held else (0, 0)
        ranges = [(lo, hi) for at, slave, lo, hi in self.received if slave == node and at < t]
        return (ranges[0][0], ranges[-1][1]) if ranges else (0, 0)

    def _marks(self) -> Iterator[Dated]:
        """A pause is a fault that ends; the next time that both logs were seen equal is its convergence."""
        healed = False
        for t, text in self.capture.events:
            if (paused := PAUSED.match(text)) and paused[2] == "CONT":
                healed = True
                yield t, "mark", {"f": "heal"}
            elif healed and IN_SYNC.match(text):
                healed = False
                yield t, "mark", {"f": "converged"}

    # The stores after the run.

    def _audit_time(self, rows: list[Dated]) -> int | None:
        """When the first broker began its last clean end, if bytes neither entered a log nor left the master later."""
        stops = {str(row["node"]): t for t, kind, row in rows if kind == "stop"}
        moved = [t for t, kind, row in rows if kind == "append" or (kind == "frame" and row["lo"] != row["hi"])]
        if MASTER not in stops or min(stops.values()) <= max(moved, default=0):
            return None
        return min(stops.values())

    def _audit(self, recorder: Recorder, t: int) -> None:
        incarnations = {e.node: e.incarnation for e in recorder.events if e.kind == "start"}
        others = sorted({each.node for each in self.capture.connections})
        for number, node in enumerate(others, 1):
            store = self.capture.folder / "store" / node
            if not store.is_dir():
                continue
            # What was pushed says how far the logs must reach; a log alone would end where it is damaged.
            received = max((hi for _, slave, _, hi in self.received if slave == node), default=None)
            master = self.log if self.log.whole else read_log(self.capture.log, received)
            readings = {MASTER: master, node: read_log(open_log(store), received)}
            lo = max(each.start for each in readings.values())
            hi = min(each.end for each in readings.values())
            for name, reading in readings.items():
                audit(recorder, t, number, "final", name, incarnations.get(name), reading, lo, hi, records=False)

    # The master's log.

    def _stored_at(self, record: LogRecord) -> int:
        return round((record.store_ms - self.capture.t0_ms) * 1_000) * 1_000

    def _appends(self) -> Iterator[Dated]:
        fillers = {each.hi: each for each in self.log.fillers}
        latest = 0
        for each in self.log.records if self.log.whole else ():
            # Appends are in the log's order, even where a clock went back.
            latest = max(latest, self._stored_at(each), 0)
            filler = fillers.get(each.lo)
            if filler is not None:
                yield latest, "append", self._append(filler.lo, filler.hi, "filler", None)
            yield latest, "append", self._append(each.lo, each.hi, "put", each.unique_key)

    def _append(self, lo: int, hi: int, f: str, message: str | None) -> Row:
        known = digest(self.log.read(lo, hi))
        return {"node": MASTER, "incarnation": 1, "f": f, "message": message, "lo": lo, "hi": hi, "digest": known}

    # The HA connections.

    def _connection(self, connection: Connection) -> Iterator[Dated]:
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
        if body and self.log.whole:
            stored = digest(self.log.read(lo, hi))
            yield t, "source", {"node": MASTER, "link": link, "lo": lo, "hi": hi, "digest": stored}
        yield t, "frame", {**row, "node": slave, "side": "s"}

    def _close(self, connection: Connection, unfinished: int | None) -> Iterator[Dated]:
        closer = self._ended_soon_after(connection)
        for side, node in (("m", MASTER), ("s", connection.node)):
            row = {"node": node, "link": self.links[connection.name], "side": side, "value": unfinished}
            yield connection.closed, "close", {**row, "f": "local" if node == closer else "peer"}

    def _ended_soon_after(self, connection: Connection) -> str:
        """Who closed: of the two brokers the one that ended soonest after, else the slave."""
        for t, text in self.capture.events:
            node = text.partition(" ")[0]
            soon = connection.closed <= t <= connection.closed + CLOSER_WITHIN_NS
            if soon and node in (MASTER, connection.node) and STOPPED.match(text):
                return node
        return connection.node


def _lab() -> Dated:
    return 0, "lab", {"f": "capture", "value": SLACK_NS, "detail": "{}"}


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
