"""What laws abstained from, as they noted it in each trial."""

from __future__ import annotations

from collections import Counter

from ..harness.judging.abstentions import Offered
from ..harness.judging.abstentions import offered as by_law
from .model import Report


def offered(report: Report) -> list[Offered]:
    """What laws abstained from, over all runs."""
    judged = Counter[str]()
    for row in report.by_run:
        judged[row["law"]] += row["judged"]
    return by_law(judged, ((row["law"], row["note"], row["amount"]) for row in report.contract))
