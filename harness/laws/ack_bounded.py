"""``ack-bounded``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class AckBounded(Law):
    """See the module."""

    id = "ack-bounded"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
