"""Chooses the sampled trials with a page: the first one of each scenario, then the first ones of the searches.

A finding's trial has its page already. Bounded in trials and in events, since each history is loaded into the driver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..harness.runs.schema import Row
from . import scenarios
from .model import MAX_PAGES

MAX_EVENTS = 200_000


def chosen(rows: Iterable[Row], played: Sequence[Row], without: Collection[tuple[str, int]], at_most: int) -> list[Row]:
    """The trials with a page: run, trial, origin, seed, events, and ``scenario``, empty without one.

    ``rows``: of table ``kept``. ``played``: scenarios of the runs. ``without``: trials of findings. ``at_most``: drawn
    events per trial.
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
    """The trial with its verdicts (``verdicts``: rows of that table) and its ``schedule``."""
    own = [each for each in verdicts if (each["run"], each["trial"]) == (row["run"], row["trial"])]
    judged = [each for each in own if each["judged"]]
    return row | {
        "judged": len(judged), "times": sum(each["judged"] for each in judged),
        "violated": sorted(each["law"] for each in own if each["verdict"] == "violated"),
        "unknown": sorted(each["law"] for each in own if each["verdict"] == "unknown"),
        "schedule": schedules.get((row["run"], row["trial"])),
    }  # fmt: skip
