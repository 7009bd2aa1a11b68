"""``loss-is-suffix``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class LossIsSuffix(Law):
    """See the module."""

    id = "loss-is-suffix"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
