"""What a report's verdict does not rest on, a line of Markdown for each: what could not be read, was demanded and not
judged, had no effect, or was skipped.
"""

from collections.abc import Iterator

from ..harness.exploration.evidence import FEW
from ..harness.judging import abstentions
from ..harness.texts.wording import counted
from . import effects, known_cases, noted
from .markdown import escape
from .model import Report


def lines(report: Report) -> list[str]:
    """All of them, the gravest first."""
    parts = (
        _unread(report), _judged_otherwise(report), _demanded(report), _undecided(report), _abstained(report),
        _without_effect(report),
    )  # fmt: skip
    return [line for part in parts for line in part]


def _unread(report: Report) -> Iterator[str]:
    for each in report.corrupt:
        yield f"left out {escape(each['folder'])}: {escape(each['reason'])}"
    for each in report.problems:
        trial = "" if each["trial"] is None else f"of trial {each['trial']} "
        yield f"history {trial}in {escape(each['part'])} of {escape(each['run'])}: {escape(each['problem'])}"


def _judged_otherwise(report: Report) -> Iterator[str]:
    for each in (report.rejudged or {"differences": []})["differences"]:
        yield (
            f"trial {each['trial']} of {escape(each['run'])}: {escape(each['law'])} was recorded as {each['stored']}, "
            f"and is {each['again']} when it is judged again"
        )


def _demanded(report: Report) -> Iterator[str]:
    for name, told in known_cases.amiss(report.runs):
        yield f"known case of {escape(name)}: {escape(told)}"
    for run in report.runs:
        for missed in run.get("floors_missed") or ():
            yield f"floor missed in {escape(run['run'])}: {escape(missed)}"
    for row in report.by_run:
        if row["forbidden"]:
            remark = escape(row["remark"])
            yield f"{escape(row['law'])} in {escape(row['run'])}: {remark}, although the run demands it"


def _undecided(report: Report) -> Iterator[str]:
    for run in report.runs:
        if run["evidence"]["little"]:
            yield f"{escape(run['run'])} has fewer than {FEW} trials: what holds there holds on little evidence"
        own = [row for row in report.by_run if row["run"] == run["run"] and row["few"] and row["trials"] >= FEW]
        if own:
            named = ", ".join(f"{escape(row['law'])} ({row['exercised']:,})" for row in own)
            told = f"{counted(len(own), 'law')} of {escape(run['run'])}"
            yield f"little evidence, fewer than {FEW} trials that gave something to judge, is behind {told}: {named}"
    for row in report.doubts:
        why = escape(row["text"] or "no reason given")
        yield f"{escape(row['law'])} could not be decided in {escape(row['run'])}: {why}"


def _abstained(report: Report) -> Iterator[str]:
    yield from map(escape, abstentions.lines(noted.offered(report)))


def _without_effect(report: Report) -> Iterator[str]:
    for row in report.faults:
        if row["uses"] and not row["bit"]:
            yield f"fault {escape(row['name'])} had no effect in {escape(row['lab'])}: used {row['uses']:,} times"
    for each in effects.power_losses(report.faults):
        if each.imitated:
            yield f"power losses in {escape(each.lab)}, {each.times:,} in all, were {each.how}"
    for row in report.skipped:
        where = f"{escape(row['lab'])} for {escape(row['target'])}"
        yield f"skipped in {where}, {row['trials']:,} times: {escape(row['reason'])}"
