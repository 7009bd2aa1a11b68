"""``live-progress``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class LiveProgress(Law):
    """See the module."""

    id = "live-progress"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
