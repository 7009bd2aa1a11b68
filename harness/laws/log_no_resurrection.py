"""``log-no-resurrection``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class LogNoResurrection(Law):
    """See the module."""

    id = "log-no-resurrection"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
