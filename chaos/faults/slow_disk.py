"""To be written: ``slow_disk``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanSlowDisk, Effect
from pairproof.harness.schedule import Args


class SlowDisk:
    """The fault ``slow_disk``."""

    name = "slow_disk"
    needs = CanSlowDisk
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanSlowDisk, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanSlowDisk, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = SlowDisk()
