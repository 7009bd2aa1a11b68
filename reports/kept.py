"""Which kept trials get a page: of each scenario the first one, then the first ones of the searches.

A finding's trial has its page already. Bounded in trials and in events, since each history comes to the driver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from . import scenarios
from .model import MAX_PAGES

MAX_EVENTS = 200_000
"""Of all these trials together."""

Row = dict[str, Any]


def chosen(rows: Iterable[Row], played: Sequence[Row], without: Collection[tuple[str, int]], at_most: int) -> list[Row]:
    """The trials that get a page: run, trial, origin, seed, events, and ``scenario``, empty if it is none.

    ``rows``: of table ``kept``. ``played``: scenarios of the runs. ``without``: trials of findings. ``at_most``: events
    that are drawn of one trial.
    """
    first: dict[tuple[str, str], Row] = {}
    others = []
    for row in rows:
        if (row["run"], row["trial"]) in without:
            continue
        name = scenarios.of_seed(played, row["run"], row["seed"])
        row = row | {"scenario": name}
        if not name:
            others.append(row)
        elif (row["run"], name) not in first:
            first[row["run"], name] = row
    left = MAX_EVENTS
    found: list[Row] = []
    for row in (*first.values(), *others):
        takes = min(row["events"] or 0, at_most)
        if len(found) < MAX_PAGES and takes <= left:
            left -= takes
            found.append(row)
    return found


def described(row: Row, verdicts: Iterable[Row], schedules: Mapping[tuple[str, int], Any]) -> Row:
    """The same with what its laws say (``verdicts``: rows of that table) and its ``schedule``."""
    own = [each for each in verdicts if (each["run"], each["trial"]) == (row["run"], row["trial"])]
    judged = [each for each in own if each["judged"]]
    return row | {
        "judged": len(judged), "times": sum(each["judged"] for each in judged),
        "violated": sorted(each["law"] for each in own if each["verdict"] == "violated"),
        "unknown": sorted(each["law"] for each in own if each["verdict"] == "unknown"),
        "schedule": schedules.get((row["run"], row["trial"])),
    }  # fmt: skip
