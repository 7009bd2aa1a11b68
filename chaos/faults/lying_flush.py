"""To be written: ``lying_flush``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanLieAboutFlushes, Effect
from pairproof.harness.schedule import Args


class LyingFlush:
    """The fault ``lying_flush``."""

    name = "lying_flush"
    needs = CanLieAboutFlushes
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanLieAboutFlushes, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanLieAboutFlushes, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = LyingFlush()
