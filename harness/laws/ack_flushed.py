"""``ack-flushed``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class AckFlushed(Law):
    """See the module."""

    id = "ack-flushed"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
