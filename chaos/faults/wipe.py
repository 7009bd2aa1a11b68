"""To be written: ``wipe``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanReplaceStore, Effect
from pairproof.harness.schedule import Args


class Wipe:
    """The fault ``wipe``."""

    name = "wipe"
    needs = CanReplaceStore
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanReplaceStore, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanReplaceStore, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = Wipe()
