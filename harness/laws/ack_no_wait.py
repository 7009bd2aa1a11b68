"""``ack-no-wait``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class AckNoWait(Law):
    """See the module."""

    id = "ack-no-wait"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
