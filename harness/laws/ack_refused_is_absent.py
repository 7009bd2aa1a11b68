"""``ack-refused-is-absent``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class AckRefusedIsAbsent(Law):
    """See the module."""

    id = "ack-refused-is-absent"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
