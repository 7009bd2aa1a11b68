"""To be written: ``reset_peer``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanShapeLink, Effect
from pairproof.harness.schedule import Args


class ResetPeer:
    """The fault ``reset_peer``."""

    name = "reset_peer"
    needs = CanShapeLink
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = ResetPeer()
