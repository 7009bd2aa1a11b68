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

    def begin(self) -> None:
        self.batch = 0
        self.file_size = 0

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        lo, hi = event.lo, event.hi
        if lo == hi:
            return
        if not self.batch:
            self.batch = self.known.setting(MASTER, "haTransferBatchSize")
            self.file_size = self.known.setting(MASTER, "mappedFileSizeCommitLog")
        self.judged += 1
        if hi - lo > self.batch:
            self.violate(event, f"{event.link}: a body of {hi - lo} bytes, the batch is {self.batch}")
        if lo // self.file_size != (hi - 1) // self.file_size:
            self.violate(event, f"{event.link}: [{lo}, {hi}) crosses a boundary of files of {self.file_size} bytes")
