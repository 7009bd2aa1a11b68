"""To be written: ``pause``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanPause, Effect
from pairproof.harness.schedule import Args


class Pause:
    """The fault ``pause``."""

    name = "pause"
    needs = CanPause
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanPause, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanPause, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = Pause()
