"""To be written: ``clock_skew``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanSkewClock, Effect
from pairproof.harness.schedule import Args


class ClockSkew:
    """The fault ``clock_skew``."""

    name = "clock_skew"
    needs = CanSkewClock
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanSkewClock, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanSkewClock, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = ClockSkew()
