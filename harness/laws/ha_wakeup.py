"""``ha-wakeup``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class HaWakeup(Law):
    """See the module."""

    id = "ha-wakeup"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
