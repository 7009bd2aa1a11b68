"""To be written: ``jitter``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanShapeLink, Effect
from pairproof.harness.schedule import Args


class Jitter:
    """The fault ``jitter``."""

    name = "jitter"
    needs = CanShapeLink
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = Jitter()
