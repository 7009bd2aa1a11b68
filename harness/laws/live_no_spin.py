"""``live-no-spin``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class LiveNoSpin(Law):
    """See the module."""

    id = "live-no-spin"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
