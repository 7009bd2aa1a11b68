"""``ha-heartbeat``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class HaHeartbeat(Law):
    """See the module."""

    id = "ha-heartbeat"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
