"""The limits of a report's verdict: what was unreadable, demanded and not judged, without effect, or skipped. Pages
fold it, by kind; summary.md has a list.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from ..harness.exploration.evidence import FEW
from ..harness.judging import abstentions
from ..harness.texts.wording import counted
from . import effects, known_cases, noted
from .markdown import escape
from .model import Report
from .rejudging import COMPLETE

AGAIN = "runs.html#again"


class Caveat(NamedTuple):
    """Lines of one kind, and the kind in short. A ``grave`` one is never folded, and its lines contain its kind: the
    record is damaged, or a known case shows. ``more``: the page that explains it.
    """

    short: str
    lines: list[str]
    grave: bool = False
    more: str = ""


def lines(report: Report) -> list[str]:
    """All of them as Markdown, the gravest first."""
    return [escape(line) for each in caveats(report) for line in each.lines]


def caveats(report: Report) -> list[Caveat]:
    """All of them by kind, the gravest first."""
    parts = (_grave(report), _demanded(report), _undecided(report), _without_effect(report))
    return [each for part in parts for each in part if each.lines]


def _grave(report: Report) -> Iterator[Caveat]:
    # Most reasons name a file of the folder.
    left = [
        f"left out{'' if each['folder'] in each['reason'] else ' ' + each['folder']}: {each['reason']}"
        for each in report.corrupt
    ]
    yield Caveat(f"{counted(len(left), 'folder')} left out", left, True)
    odd = [
        f"history {'' if each['trial'] is None else 'of trial {} '.format(each['trial'])}in {each['part']} of "
        f"{each['run']}: {each['problem']}"
        for each in report.problems
    ]
    yield Caveat("damaged histories", odd, True, AGAIN)
    rejudged = [
        f"trial {each['trial']} of {each['run']}: {each['law']} was recorded as {each['stored']}, and is "
        f"{each['again']} when it is judged again"
        for each in (report.rejudged or {"differences": []})["differences"]
    ]
    yield Caveat("verdicts that differ when judged again", rejudged, True, AGAIN)
    # A case is named by its file; runs need a name if there are several.
    several = len(report.runs) > 1
    cases = [f"known case {case}{f' in {name}' if several else ''}" for name, case in known_cases.amiss(report.runs)]
    yield Caveat(counted(len(cases), "known case"), cases, True)


def _demanded(report: Report) -> Iterator[Caveat]:
    states = [
        f"{run['run']} is not complete ({run['state']}{': ' + run['reason'] if run.get('reason') else ''})"
        for run in report.runs
        if run["state"] != COMPLETE
    ]
    yield Caveat("not complete", states)
    missed = [
        f"coverage minimum missed in {run['run']}: {each}"
        for run in report.runs
        for each in run.get("minimums_missed") or ()
    ]
    yield Caveat("searches met less than demanded", missed)
    rows = [row for row in report.by_run if row["forbidden"]]
    idle = [f"{row['law']} in {row['run']}: {row['remark']}, although the run demands it" for row in rows]
    yield Caveat(f"{counted(len(rows), 'law')} had nothing to judge", idle)


def _undecided(report: Report) -> Iterator[Caveat]:
    doubts = [
        f"{row['law']} could not be decided in {row['run']}: {row['text'] or 'no reason given'}"
        for row in report.doubts
    ]
    yield Caveat(f"{counted(len(doubts), 'law')} undecided", doubts)
    little = [
        f"{run['run']} has fewer than {FEW} trials: what holds there holds on little evidence"
        for run in report.runs
        if run["evidence"]["little"]
    ]
    yield Caveat(f"fewer than {FEW} trials", little)
    rows = sorted((row for row in report.by_run if row["few"] and row["trials"] >= FEW), key=lambda row: row["run"])
    named = [
        f"{run}, fewer than {FEW} trials gave these laws anything to judge: "
        + ", ".join(f"{row['law']} ({row['exercised']:,})" for row in own)
        for run, own in groupby(rows, key=lambda row: row["run"])
    ]
    yield Caveat(f"{counted(len({row['law'] for row in rows}), 'law')} on little evidence", named)
    yield Caveat("laws that abstained", list(abstentions.lines(noted.offered(report))))


def _without_effect(report: Report) -> Iterator[Caveat]:
    runs = [run for run in report.runs if run["evidence"]["not_played"]]
    untried = [f"not played in {run['run']}: {', '.join(run['evidence']['not_played'])}" for run in runs]
    yield Caveat("faults not played", untried)
    idle = [row for row in report.faults if row["uses"] and not row["bit"]]
    unused = [f"fault {row['name']} had no effect in {row['lab']}: used {counted(row['uses'], 'time')}" for row in idle]
    yield Caveat(f"{counted(len(unused), 'fault')} without effect", unused)
    power = [each for each in effects.power_losses(report.faults) if each.imitated]
    yield Caveat(
        "power losses imitated",
        [f"power losses in {each.lab}, {each.times:,} in all, were {each.how}" for each in power],
    )
    skipped = [
        f"in {row['lab']} for {row['target']}, {row['trials']:,} times: {row['reason']}" for row in report.skipped
    ]
    yield Caveat("operations skipped", skipped)
