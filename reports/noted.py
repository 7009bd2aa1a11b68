"""What laws counted besides their verdicts: losses that were permitted, and what they abstained from."""

from __future__ import annotations

from collections import Counter

from ..harness.judging.abstentions import Offered, is_abstention
from ..harness.judging.abstentions import offered as by_law
from .model import Report, Row


def contract(report: Report) -> list[Row]:
    """One row per law, target and lab, its notes together."""
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in report.contract:
        if is_abstention(row["note"]):
            continue
        found.setdefault((row["law"], row["target"], row["lab"]), {})[row["note"]] = row["amount"]
    return [{"law": law, "target": target, "lab": lab, "notes": notes} for (law, target, lab), notes in found.items()]


def offered(report: Report) -> list[Offered]:
    """What laws abstained from, over all runs."""
    judged = Counter[str]()
    for row in report.by_run:
        judged[row["law"]] += row["judged"]
    return by_law(judged, ((row["law"], row["note"], row["amount"]) for row in report.contract))


def abstained(report: Report) -> list[Row]:
    """One row per law that abstained from anything, the largest share first."""
    rows = [
        {"law": each.law, "judged": each.judged, "percent": each.percent, "reasons": each.reasons}
        for each in offered(report)
        if each.abstained
    ]
    return sorted(rows, key=lambda row: (-int(row["percent"]), row["law"]))
