"""``ha-housekeeping``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class HaHousekeeping(Law):
    """See the module."""

    id = "ha-housekeeping"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
