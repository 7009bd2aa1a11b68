"""``ha-start-offset``: the copy starts at the master's last file after a first report of 0, exactly at a report within
the log, and not at all after any other.

Checks:
- With M the master's log end and m its log start: report 0 starts at M - M % file size. M may grow before the first
  frame, so each file start that it passed is accepted. Where only flushed bytes are pushed (``haPushes``), M is the
  flushed end.
- A report within [m, M] starts exactly there.
- Any other report gets nothing (see also ``ack-unavailable-honest``).
- A first heartbeat carries the start offset, and is checked as well.
Source: HAConnection.WriteSocketService; the third rule corrects its missing check.
"""

from ....judging.law import only
from ...event_types.ha import Frame, Report
from ...known.ha_links import VALID
from ...law import Law
from ...topology import MASTER


class HaStartOffset(Law):
    needs = frozenset({"config", "append", "report", "frame"})

    def begin(self) -> None:
        self.asked: dict[str | None, tuple[int, int, bool]] = {}
        """By connection without a frame: first report, pushable end of the log, and whether the slave is served."""

    @only(node=MASTER)
    def on_report(self, event: Report) -> None:
        if self.known.is_first(event) and event.link not in self.asked:
            offset = event.offset
            served = self.known.validity(event) is VALID
            end = self.known.logs.readable_end(MASTER, offset)
            if self.known.pushes_flushed:
                end = min(end, self.known.logs.flushed.get(MASTER, 0))
            self.asked[event.link] = offset, end, served
            self.judged += not served

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        asked = self.asked.pop(event.link, None)
        if asked is None:
            return
        offset, end, served = asked
        if not served:
            self.violate(event, f"{event.link}: first report {offset} is outside the log up to {end}, yet was served")
            return
        self.judged += 1
        if offset:
            right = event.lo == offset
        else:
            right = self._is_file_start(event.lo, end)
        if not right:
            self.violate(
                event, f"{event.link}: first report {offset}, log end {end}, but the copy starts at {event.lo}"
            )

    def _is_file_start(self, lo: int, end: int) -> bool:
        """Whether ``lo`` starts a file in which the log has ended since it ended at ``end``."""
        size = self.known.setting(MASTER, "mappedFileSizeCommitLog")
        return lo % size == 0 and end - end % size <= lo <= max(end, self.known.logs.ends.get(MASTER, end))
