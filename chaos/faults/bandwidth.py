"""To be written: ``bandwidth``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanShapeLink, Effect
from pairproof.harness.schedule import Args


class Bandwidth:
    """The fault ``bandwidth``."""

    name = "bandwidth"
    needs = CanShapeLink
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = Bandwidth()
