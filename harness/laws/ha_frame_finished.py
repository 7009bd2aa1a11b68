"""``ha-frame-finished``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class HaFrameFinished(Law):
    """See the module."""

    id = "ha-frame-finished"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
