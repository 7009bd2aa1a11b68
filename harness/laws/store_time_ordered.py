"""``store-time-ordered``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class StoreTimeOrdered(Law):
    """See the module."""

    id = "store-time-ordered"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
