"""``ha-report-prompt``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class HaReportPrompt(Law):
    """See the module."""

    id = "ha-report-prompt"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
