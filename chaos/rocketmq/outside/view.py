"""What can be said of a broker that tells nothing of its inside: rows like a trace's, made of its files and its output.

It stands for a :class:`pairproof.chaos.labs.real.trace.TraceReader`. ``start`` has the range of the log that its files
held when its process began: recovery changes no bytes, and ends the log where the records stop being whole. That range
is read before the process can have appended anything, since a JVM takes longer to come up than its files to be read.
``append`` is a whole record, or the rest of a file that a filler closes; ``dispatch`` that its queues' files hold what
the log has up to there; ``persist`` that a table's file was saved while it served; ``expire`` that the log's oldest
files are gone; ``refused`` what its log says of a slave; ``sync`` that a slave's log says that it did not get a table:
taps tell the rest.

Left out: how it recovered, what is flushed, and that a part of a record is there already. Rows are dated by when they
were read, those of a master's records by their store timestamps, and ``dispatch`` as early as it can have been: at the
last look that did not find it. :mod:`pairproof.chaos.rocketmq.outside.dates` puts all in an order that could be true.
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
from .words import QUARTER_MS, WordsFollower

LOG, QUEUES, TABLES = "commitlog", "consumequeue", "config"


class OutsideView(SeenFromOutside):
    """See the module. ``copies``: whether the broker is a slave, whose records were stored by another one before.
    ``inside``: what its process traces itself, if it does.
    """

    def __init__(self, at: Place, is_ready: Callable[[], bool], copies: bool, inside: View | None = None) -> None:
        super().__init__(at, is_ready)
        self._copies = copies
        self._inside = inside
        self._wall_ns = time.time_ns() - time.monotonic_ns()
        """How far the wall clock, which records are dated by, is ahead."""
        self._log = LogFollower(at.path / LOG)
        self._range = self._log.recover()
        self._queues = QueuesFollower(at.path / QUEUES, self._range[1])
        self._saves = SavesFollower(at.path / TABLES, self._wall_ns)
        self._words = WordsFollower(at.output)

    def read(self) -> list[Row]:
        rows = super().read()
        for row in rows:
            if row[1] == "start":
                row[3:] = self._range
        rows += [] if self._inside is None else self._inside.read()
        if not self.lives:
            self._saves.close()
            return rows
        # What it saves on its way up is before its start, and not told.
        saved = self._saves.look()
        if self.has_started:
            rows += [*self._grown(), *([t, "persist", table] for t, table in saved)]
        return rows

    def _grown(self) -> list[Row]:
        found = list(self._log.look())
        rows = [self._append(each) for each in found]
        # After the log: what a queue has then is in the log already.
        self._queues.appended(what for what, _ in found)
        rows += [[absent, "dispatch", hi] for hi, absent in self._queues.look()]
        now = time.monotonic_ns()
        if self._log.has_expired():
            rows.append([now, "expire", self._log.begin])
        why = "its log said so"
        refusals, failures = self._words.look()
        rows += [[now, "refused", *each, why] for each in refusals]
        return rows + [[self._written(each.at_ms), "sync", each.table, "failed"] for each in failures]

    def _written(self, at_ms: int) -> int:
        """When a line was written that has just been read, on the monotonic clock."""
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
