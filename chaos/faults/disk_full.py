"""To be written: ``disk_full``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanFillDisk, Effect
from pairproof.harness.schedule import Args


class DiskFull:
    """The fault ``disk_full``."""

    name = "disk_full"
    needs = CanFillDisk
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanFillDisk, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanFillDisk, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = DiskFull()
