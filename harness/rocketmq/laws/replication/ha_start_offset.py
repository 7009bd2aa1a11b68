"""``ha-start-offset``: where the copy of a connection starts, decided once by its first report.

With M the master's log end and m its log start: report 0 starts at M - M % file size, a report within [m, M] exactly
there, and any other gets nothing at all. M may grow between the report's arrival and the first frame, so for report 0
every file start that M passed meanwhile is accepted. Where only flushed bytes are pushed (``haPushes``), M is for
report 0 what had been flushed. A first heartbeat carries the start offset and is judged too.

Left out: that such a peer is no slave, see ``ack-unavailable-honest``. Source: HAConnection's write service; the third
rule is the correction of its missing check.
"""

from ....judging.law import only
from ...event_types.ha import Frame, Report
from ...known.ha_links import VALID
from ...law import Law
from ...topology import MASTER


class HaStartOffset(Law):
    id = "ha-start-offset"
    promise = (
        "After a first report of 0 the master sends from its last file on, after one within its log from exactly "
        "there, and after any other nothing."
    )
    source = "HAConnection.WriteSocketService"
    needs = frozenset({"config", "append", "report", "frame"})

    def begin(self) -> None:
        self.asked: dict[str | None, tuple[int, int, bool]] = {}
        """Connections without a frame yet: first report, how far the log could be pushed, and whether it is served."""

    @only(node=MASTER)
    def on_report(self, event: Report) -> None:
        if self.known.is_first(event) and event.link not in self.asked:
            offset = event.offset
            served = self.known.validity(event) is VALID
            end = self.known.logs.ends.get(MASTER, offset)
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
        """Whether ``lo`` starts the file in which the log ended at some time since it ended at ``end``."""
        size = self.known.setting(MASTER, "mappedFileSizeCommitLog")
        return lo % size == 0 and end - end % size <= lo <= max(end, self.known.logs.ends.get(MASTER, end))
