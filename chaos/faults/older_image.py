"""To be written: ``older_image``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanReplaceStore, Effect
from pairproof.harness.schedule import Args


class OlderImage:
    """The fault ``older_image``."""

    name = "older_image"
    needs = CanReplaceStore
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanReplaceStore, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanReplaceStore, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = OlderImage()
