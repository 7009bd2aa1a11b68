"""To be written: ``slow_close``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanShapeLink, Effect
from pairproof.harness.schedule import Args


class SlowClose:
    """The fault ``slow_close``."""

    name = "slow_close"
    needs = CanShapeLink
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = SlowClose()
