"""The disk of a reference node that obeys a lab's control file."""

from __future__ import annotations

import time
from pathlib import Path

from ...reference.shell.disk import RealDisk
from ..labs.real.control import Control

POLL_S = 0.001


class ControlledDisk(RealDisk):
    def __init__(self, control: Control, root: Path, commit_log: Path | None = None) -> None:
        super().__init__(root, commit_log)
        self.control = control

    def sync(self, name: str) -> None:
        control = self.control
        if control.get("stalled"):
            control.count("held")
            # The harness limits the stall: at its end it ends this process, too.
            while control.get("stalled"):
                time.sleep(POLL_S)
        slow_ms = control.get("slow_ms")
        if slow_ms:
            control.count("slowed")
            time.sleep(slow_ms / 1_000)
        if control.get("lies"):
            control.count("lied")
            return
        super().sync(name)
