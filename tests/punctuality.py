"""Whether this machine let a test's processes run when they wanted to: a host may take its CPUs away for long."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

TICK_S = 0.05
STALL_S = 1.0
"""What counts: a thread that woke so much too late, or so much time of CPUs that the host took."""
STALLED = "the machine stalled"
"""What labs say of such a trial."""
STEAL = 8
"""Its place in the first line of /proc/stat."""


class Watch(threading.Thread):
    """Looks at the clock, and at what the host took, since :meth:`begin`."""

    def __init__(self) -> None:
        super().__init__(name="punctuality", daemon=True)
        self.late_s = self._stolen_s = 0.0

    def begin(self) -> None:
        """Whatever happened until now does not count any more."""
        self.late_s, self._stolen_s = 0.0, stolen_s()

    def run(self) -> None:
        """Wake up again and again."""
        while True:
            before = time.monotonic()
            time.sleep(TICK_S)
            self.late_s = max(self.late_s, time.monotonic() - before - TICK_S)

    def stalled(self, error: BaseException | None = None) -> bool:
        """Whether the machine was late, or a lab noticed it."""
        return max(self.late_s, stolen_s() - self._stolen_s) >= STALL_S or STALLED in str(error)


def stolen_s() -> float:
    """CPU time that the host has taken from this machine since its start; 0 where nobody says."""
    try:
        fields = Path("/proc/stat").read_text().split(maxsplit=STEAL + 1)
        return int(fields[STEAL]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
