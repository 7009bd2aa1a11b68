"""Abstentions of laws, as noted in each trial."""

from __future__ import annotations

from collections import Counter

from ..harness.judging.abstentions import Offered
from ..harness.judging.abstentions import offered as by_law
from .model import Report


def offered(report: Report) -> list[Offered]:
    """Abstentions of laws, over all runs."""
    judged = Counter[str]()
    for row in report.by_run:
        judged[row["law"]] += row["judged"]
    return by_law(judged, ((row["law"], row["note"], row["amount"]) for row in report.contract))
