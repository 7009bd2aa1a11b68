"""The view of a broker without a trace: rows like a trace's, derived from its files and its output.

It replaces a :class:`pairproof.chaos.labs.real.trace.TraceReader`. ``start`` has the range of the log in its files when
its process began: recovery changes no bytes, and ends the log at the first incomplete record. That range is read before
the process can append, since a JVM starts more slowly. ``append`` is a whole record, or the rest of a file behind a
filler; ``dispatch``: its queues' files are complete up to there; ``persist``: a table's file was saved while it served;
``expire``: the log's oldest files are gone; ``refused``: the refusal of a slave in its log; ``sync``: a failed table
fetch in a slave's log (taps report the rest).

Left out: the type of recovery, flushes, and parts of records. Rows are dated by their reading, a master's records by
their store timestamps, and ``dispatch`` as early as possible: at the last poll without it.
:mod:`pairproof.chaos.rocketmq.outside.dates` sorts all into a possible order.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ....harness.history import MS, digest
from ...observers.stored_record import LogRecord, stored_key
from ...plan import Place, Row, SeenFromOutside, View
from .log import Found, LogFollower
from .queues import QueuesFollower
from .saves import SavesFollower
from .words import QUARTER_MS, OutputFollower

LOG, QUEUES, TABLES = "commitlog", "consumequeue", "config"


class OutsideView(SeenFromOutside):
    """``copies``: whether the broker is a slave, whose records another broker stored before. ``inside``: its
    process's trace, if any.
    """

    def __init__(self, at: Place, is_ready: Callable[[], bool], copies: bool, inside: View | None = None) -> None:
        super().__init__(at, is_ready)
        self._copies = copies
        self._inside = inside
        self._wall_ns = time.time_ns() - time.monotonic_ns()
        """How far the wall clock, which dates records, is ahead."""
        self._log = LogFollower(at.path / LOG)
        self._range = self._log.recover()
        self._queues = QueuesFollower(at.path / QUEUES, self._range[1])
        self._saves = SavesFollower(at.path / TABLES, self._wall_ns)
        self._output = OutputFollower(at.output)

    def read(self) -> list[Row]:
        rows = super().read()
        for row in rows:
            if row[1] == "start":
                row[3:] = self._range
        rows += [] if self._inside is None else self._inside.read()
        if not self.is_running:
            self._saves.close()
            return rows
        # Saves during the startup are before its start, and not reported.
        saved = self._saves.poll()
        if self.has_started:
            rows += [*self._grown(), *([t, "persist", table] for t, table in saved)]
        return rows

    def _grown(self) -> list[Row]:
        found = list(self._log.poll())
        rows = [self._append(each) for each in found]
        # After the log: a queue's entries are then in the log already.
        self._queues.appended(what for what, _ in found)
        rows += [[absent, "dispatch", hi] for hi, absent in self._queues.poll()]
        now = time.monotonic_ns()
        if self._log.has_expired():
            rows.append([now, "expire", self._log.begin])
        why = "its log said so"
        refusals, failures = self._output.poll()
        rows += [[now, "refused", *each, why] for each in refusals]
        return rows + [[self._written(each.at_ms), "sync", each.table, "failed"] for each in failures]

    def _written(self, at_ms: int) -> int:
        """When a line that was just read was written, on the monotonic clock."""
        now_ms = time.time_ns() // MS
        return (now_ms - (now_ms - at_ms) % QUARTER_MS) * MS - self._wall_ns

    def _append(self, found: Found) -> Row:
        (what, data), now = found, time.monotonic_ns()
        if self._copies:
            return [now, "append", what.lo, what.hi, digest(data), "replicate", None]
        if not isinstance(what, LogRecord):
            return [now, "append", what.lo, what.hi, digest(data), "filler", None]
        stored = what.store_ms * MS - self._wall_ns
        return [min(now, stored), "append", what.lo, what.hi, digest(data), "put", stored_key(data)]
