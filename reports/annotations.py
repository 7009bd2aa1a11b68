"""Annotations of a build on its code host: one line for each cause of a finding.

GitHub's workflow commands, if ``GITHUB_ACTIONS`` is ``true``; GitLab uses JUnit's file instead. Bounded, since a host
shows ten per step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..harness.judging import deviations
from . import scenarios
from .model import Report

GITHUB = "GITHUB_ACTIONS"
MAX_LINES = 10


def lines(report: Report, environ: Mapping[str, str]) -> list[str]:
    """The lines of this report; none if the build's host takes none."""
    return list(_lines(report))[:MAX_LINES] if environ.get(GITHUB) == "true" else []


def _lines(report: Report) -> Iterator[str]:
    by_number = {row["number"]: row for row in report.findings}
    for cause in report.causes:
        first = by_number[cause["first"]]
        also = f" Violated too: {', '.join(cause['laws'][1:])}." if cause["laws"][1:] else ""
        replay = f" Replay: {first['replay']}" if first["replay"] else ""
        yield _command("error", f"{first['law']} is violated by {first['target']}", f"{first['text']}.{also}{replay}")
    for run in filter(deviations.fails, report.runs):
        for row in deviations.met(run):
            yield _command("error", f"{row['id']} is a known deviation of {run['target']}", row["means"])
    for row in report.scenarios:
        if row["verdict"] in (scenarios.UNMET, scenarios.FAILED):
            why = "; ".join(row["reasons"]) or row["target"]
            yield _command("error", f"scenario {row['name']}: {row['verdict']}", why)
    for row in report.corrupt:
        yield _command("warning", f"{row['folder']} was left out", row["reason"])
    if report.verdict == scenarios.UNKNOWN:
        yield _command("warning", "pairproof: unknown", report.headline)


def _command(kind: str, title: str, text: str) -> str:
    return f"::{kind} title={_escaped(title).replace(':', '%3A').replace(',', '%2C')}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
