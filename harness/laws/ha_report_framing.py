"""``ha-report-framing``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class HaReportFraming(Law):
    """See the module."""

    id = "ha-report-framing"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
