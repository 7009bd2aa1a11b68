"""To be written: ``slicer``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanShapeLink, Effect
from pairproof.harness.schedule import Args


class Slicer:
    """The fault ``slicer``."""

    name = "slicer"
    needs = CanShapeLink
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = Slicer()
