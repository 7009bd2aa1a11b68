"""The regression cases that a run played before its searches (its fact ``cases``), and their meaning for a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..harness.commands.suite import MEANINGS
from ..harness.texts.wording import counted
from .scenarios import HOLDS, UNKNOWN

COLUMNS = ("case", "law", "verdict", "showed", "executed", "about")

Row = Mapping[str, Any]


def of(run: Row) -> list[Row]:
    """The cases of a run; malformed ones are left out."""
    found = run.get("cases")
    listed = found if isinstance(found, list) else []
    return [each for each in listed if isinstance(each, dict) and each.keys() >= set(COLUMNS)]


def verdict(case: Row) -> str:
    """The meaning for the run: violated, failed, unknown or holds."""
    known = MEANINGS.get(str(case["verdict"]))
    return known.run if known else UNKNOWN


def sentence(runs: Iterable[Row]) -> str:
    """``1 known case is REPRODUCED, 4 known cases are FIXED.``, the worst first; empty without any."""
    counts = Counter(str(each["verdict"]) for run in runs for each in of(run))
    order = [*MEANINGS, *sorted(counts.keys() - MEANINGS)]
    described = [
        f"{counted(counts[what], 'known case')} {'is' if counts[what] == 1 else 'are'} {what}"
        for what in order
        if what in counts
    ]
    return f"{', '.join(described)}." if described else ""


def amiss(runs: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """For each case that is not fixed: the run, and the result."""
    for run in runs:
        for each in of(run):
            if verdict(each) != HOLDS:
                yield str(run["run"]), described(each)


def described(case: Row) -> str:
    """A case in one line."""
    about = f": {case['about']}" if case["about"] else ""
    law = f" ({case['law']}, violated in {case['showed']} of {case['executed']})" if case["law"] else ""
    return f"{case['case']} is {case['verdict']}{law}{about}"
