"""To be written: ``retention``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import CanExpire, Effect
from pairproof.harness.schedule import Args


class Retention:
    """The fault ``retention``."""

    name = "retention"
    needs = CanExpire
    arguments: dict[str, tuple[Any, ...]] = {}

    def start(self, session: CanExpire, args: Args) -> Any:
        """Begin."""

    def stop(self, session: CanExpire, handle: Any) -> Effect:
        """End; what it did."""
        return {}


FAULT = Retention()
