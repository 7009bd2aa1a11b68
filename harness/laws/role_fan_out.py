"""``role-fan-out``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class RoleFanOut(Law):
    """See the module."""

    id = "role-fan-out"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
