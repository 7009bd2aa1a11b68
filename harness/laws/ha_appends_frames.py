"""``ha-appends-frames``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class HaAppendsFrames(Law):
    """See the module."""

    id = "ha-appends-frames"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
