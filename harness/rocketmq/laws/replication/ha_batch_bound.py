"""``ha-batch-bound``: a frame's body is at most haTransferBatchSize bytes and never crosses a commit log file's
boundary.

Checks:
- The size and offsets of each frame with a body, sent by the master.
Source: HAConnection.WriteSocketService; CommitLog.getData, which reads from one mapped file.
"""

from ....judging.law import CONVENTION, only
from ...event_types.ha import Frame
from ...law import Law
from ...topology import MASTER


class HaBatchBound(Law):
    kind = CONVENTION
    needs = frozenset({"config", "frame"})

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        lo, hi = event.lo, event.hi
        if lo == hi:
            return
        batch, size = (self.known.setting(MASTER, key) for key in ("haTransferBatchSize", "mappedFileSizeCommitLog"))
        self.judged += 1
        if hi - lo > batch:
            self.violate(event, f"{event.link}: a body of {hi - lo} bytes, the batch is {batch}")
        if lo // size != (hi - 1) // size:
            self.violate(event, f"{event.link}: [{lo}, {hi}) crosses a boundary of files of {size} bytes")
