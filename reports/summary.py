"""The report as a page of Markdown for a build server: the verdict first, then the likely questions.

Written beside the pages, with or without Java, and appended to the file that ``GITHUB_STEP_SUMMARY`` names. All text
from a run is escaped (:mod:`pairproof.reports.markdown`). Bounded: the report has the rest. Details are folded.
"""

import html
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..harness.commands.closing import LOOK, of_laws, rank
from ..harness.errors import PairproofError
from ..harness.judging import deviations
from ..harness.judging.verdict import Verdict
from ..harness.runs import atomic
from ..harness.runs.schema import Row
from ..harness.texts.wording import counted
from . import known_deviations, objectives, rejudging, scenarios, trend, untested
from .markdown import MAX_ROWS, escape, fenced, table
from .model import Report, completeness

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
MAX_FINDINGS = 20
MAX_LINES = 40
MAX_REASONS = 5

SIGNS: dict[str, str] = {
    Verdict.VIOLATED: "❌",
    Verdict.UNKNOWN: "❓",
    Verdict.DEVIATES: "🟡",
    Verdict.VACUOUS: "⚪",
    Verdict.HOLDS: "✅",
    Verdict.NOT_OBSERVABLE: "➖",
    Verdict.NOT_APPLICABLE: "➖",
    scenarios.UNMET: "❌",
    scenarios.FAILED: "❗",
    scenarios.SKIPPED: "➖",
}
AMBER = SIGNS[Verdict.DEVIATES]


def write(report: Report, file: Path) -> None:
    """Write ``file``, and :func:`append` it."""
    summary = text(report)
    atomic.write_text(file, summary)
    append(summary)


def append(summary: str) -> None:
    """Append a summary to the build's own, if there is one. PairproofError in one line on a failure."""
    if place := os.environ.get(STEP_SUMMARY):
        try:
            with Path(place).open("a", encoding="utf-8") as build:
                build.write(summary)
        except OSError as why:
            raise PairproofError(
                f"cannot append to {place}: {why.strerror or why}; {STEP_SUMMARY} names it, unset it to do without"
            ) from None


def text(report: Report) -> str:
    """The whole summary."""
    parts = (
        _head(report), _configurations(report), _findings(report), _scenarios(report), _laws(report),
        _not_tested(report), _losses(report), _traces(report), _runs(report),
    )  # fmt: skip
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(report: Report) -> Iterator[str]:
    sign, shown_verdict = (AMBER, "") if report.amber else (SIGNS[report.verdict], f" {report.verdict}.")
    yield f"## {sign} pairproof:{shown_verdict} {escape(report.headline)}\n"
    trials = sum(row["trials"] for row in report.search)
    causes = f" of {counted(len(report.causes), 'cause')}" if report.findings else ""
    amounts = f"{counted(len(report.runs), 'run')}, {counted(trials, 'trial')}"
    yield f"{amounts}, {counted(len(report.findings), 'finding')}{causes}.\n"
    if not report.compared:
        yield from (f"- {escape(line)}\n" for line in trend.sentences(report.trend))
    if report.compared is not None:
        yield f"**Since {escape(report.compared['before'])}**: {escape(report.compared['told'])}\n"
    for run in report.runs:
        if run["untried"]:
            yield f"{escape(run['run'])}: {escape(run['untried'])}.\n"
        if text_of := completeness(run):
            yield f"Searched in {escape(run['run'])}: {escape(text_of)}.\n"
        for row in run.get("deviations") or ():
            yield f"- {escape(deviations.describe(row))}, in {escape(run['run'])}"
        if run.get("deviations"):
            yield ""


def _configurations(report: Report) -> Iterator[str]:
    for run, text_of in known_deviations.configurations(report.runs)[: known_deviations.MAX_CONFIGURATIONS]:
        yield f"### Your configuration, in {escape(run['run'])}\n"
        yield from (f"- {escape(line)}" for line in (*text_of["deployment"], *text_of["keys"], *text_of["set"]))
        yield from (
            f"- Change {escape(each['change'])}: avoids {escape(each['avoids'])}; costs {escape(each['costs'])}"
            for each in text_of["changes"]
        )
        yield ""


def _findings(report: Report) -> Iterator[str]:
    promises = {law["id"]: law["promise"] for law in report.laws}
    by_number = {row["number"]: row for row in report.findings}
    for cause in report.causes[:MAX_FINDINGS]:
        row = by_number[cause["first"]]
        yield f"### {row['number']}. {escape(row['law'])}: {escape(row['text'])}\n"
        if promises.get(row["law"]):
            yield f"> {escape(promises[row['law']])}\n"
        if cause["laws"][1:]:
            yield f"From the same cause are violated: {', '.join(map(escape, cause['laws'][1:]))}.\n"
        where = f"{escape(row['target'])} in {escape(row['lab'])}, trial {row['shrunk_trial']} of {escape(row['run'])}"
        yield f"{where}. {_size(row)}\n"
        if row["program"]:
            more = len(row["program"]) - MAX_LINES
            yield from fenced([*row["program"][:MAX_LINES], *([f"... and {more} more"] if more > 0 else [])])
            yield ""
        if settings := (row["schedule"] or {}).get("settings"):
            text_of = ", ".join(f"{escape(key)}={escape(value)}" for key, value in sorted(settings.items()))
            yield f"With {text_of}.\n"
        if row["replay"]:
            yield "Replay, and what became of the message:" if row["autopsy"] else "Replay:"
            yield from fenced([each for each in (row["replay"], row["autopsy"]) if each])
            yield ""
    if len(report.causes) > MAX_FINDINGS:
        yield f"Findings of {len(report.causes) - MAX_FINDINGS} more causes are in the report.\n"


def _size(row: Row) -> str:
    if row["scenario"]:
        return f"Scenario {escape(row['scenario'])}; its program:"
    if not row["shrunk"]:
        return "Not shrunk: the run ended before that." + (" The program:" if row["program"] else "")
    return "The smallest program that shows it:" if row["program"] else "Bringing the pair up is enough to show it."


def _scenarios(report: Report) -> Iterator[str]:
    found, places = scenarios.lines(report.scenarios), scenarios.places(report.scenarios)
    if not found:
        return
    yield "### Scenarios\n"
    left_out = scenarios.left_out(report.runs)
    rows = (
        (line.name, *(_cell(line.cells.get(place), left_out.get(place, {}).get(line.name)) for place in places))
        for line in found
    )
    yield from table(("scenario", *(f"{escape(target)} in {escape(lab)}" for target, lab in places)), rows)
    grey = [row for line in found for row in line.cells.values() if row["verdict"] != scenarios.HOLDS]
    for row in grey[:MAX_ROWS]:
        why = [escape(reason) for reason in row["reasons"][:MAX_REASONS]]
        why += [f"and {len(row['reasons']) - MAX_REASONS} more"] if len(row["reasons"]) > MAX_REASONS else []
        where = f"**{escape(row['name'])}** in {escape(row['lab'])}, {row['verdict']}"
        yield f"- {where}: {'; '.join(why) or 'no reason given'}"
    for (_, lab), names in sorted(left_out.items()):
        text_of = ", ".join(f"{escape(name)} ({escape(lacks)})" for name, lacks in sorted(names.items()))
        yield f"- Not possible in lab {escape(lab)}, with the missing abilities: {text_of}"
    yield from [""] if grey or left_out else []


def _cell(row: Row | None, lacks: str | None) -> str:
    if row:
        return f"{SIGNS[row['verdict']]} {row['verdict']}"
    return f"cannot: {escape(lacks)}" if lacks else "not played"


def _laws(report: Report) -> Iterator[str]:
    yield "### Laws\n"
    for run in report.runs:
        own = sorted((row for row in report.by_run if row["run"] == run["run"]), key=lambda row: row["law"])
        if not own:
            continue
        look = [row for row in own if row["verdict"] in LOOK or row["forbidden"]]
        rows = (
            (row["law"], f"{SIGNS[Verdict(row['verdict'])]} {row['verdict']}", f"{row['violated']:,}",
             f"{row['exercised']:,} of {row['trials']:,}", row["remark"])
            for row in sorted(look, key=lambda row: rank(row["verdict"]))
        )  # fmt: skip
        named = [
            f"{SIGNS[verdict]} {verdict} ({len(laws)}): {', '.join(map(escape, laws))}\n"
            for verdict in Verdict
            if (laws := [row["law"] for row in own if row["verdict"] == verdict and row not in look])
        ]
        parts = [*(table(("law", "verdict", "violated in", "judged in", ""), rows) if look else ()), *named]
        yield from _details(f"{run['target']} in {run['lab']}: {of_laws(row['verdict'] for row in own)}", parts)


def _details(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{html.escape(title)}</summary>\n"
    yield from lines
    yield "</details>\n"


def _not_tested(report: Report) -> Iterator[str]:
    lines = untested.lines(report)
    if lines:
        yield "### What was not tested\n"
        yield from (f"- {line}" for line in lines[:MAX_ROWS])
        if len(lines) > MAX_ROWS:
            yield f"- and {len(lines) - MAX_ROWS} more"
        yield ""


def _losses(report: Report) -> Iterator[str]:
    found = objectives.page(report)
    if report.losses:
        yield "### What was lost\n"
        yield f"{found['sentence']}\n"
        rows = (
            (row["fault"], row["of"], row["mode"], row["target"], row["lab"],
             *(f"{row[name]:,}" for name in ("trials", "acknowledged", "lost")), row["single"])
            for row in found["worst"][:MAX_ROWS]
        )  # fmt: skip
        yield from table(
            ("fault", "of", "mode", "target", "lab", "trials", "PUT_OK", "lost", "on one broker only"), rows
        )
    cut = [f"{row['fault']}, {row['of']}" for run in found["played"] for row in run["rows"] if row["state"]]
    if cut:
        yield f"Not played: {'; '.join(cut)}.\n"
    if found["objectives"]:
        yield "### RPO and RTO\n"
        columns = ("why", "fault", "role", "flush", "target", "lab", "trials", "rpo_messages", "rto_ns", "catch_up_ns")
        rows = (tuple(str(row[name]) for name in columns) for row in found["objectives"][:MAX_ROWS])
        heads = ("cause", *columns[1:6], "trials", "RPO, messages", "RTO", "catch-up")
        yield from table(heads, rows)


def _traces(report: Report) -> Iterator[str]:
    sums = rejudging.total(report.histories)
    if not sums["kept"] and not sums["odd"]:
        return
    yield "### Recorded histories\n"
    yield f"{sums['read']:,} histories with {sums['events']:,} events were measured{_rejudged(sums, report)}.\n"


def _rejudged(sums: Row, report: Report) -> str:
    if report.rejudged is None:
        return ""
    number = sums["different"]
    note = f", and {number:,} differ from what was recorded" if number else ", and all agree with what was recorded"
    return f", {sums['judged']:,} of them judged again: {sums['verdicts']:,} verdicts{note if sums['verdicts'] else ''}"


def _runs(report: Report) -> Iterator[str]:
    yield "### Runs\n"
    rows = (
        (row["run"], row["verdict"], row["target"], row["lab"], row["profile"] or "", row["seed"] or "", row["state"])
        for row in report.runs
    )
    yield from table(("run", "verdict", "target", "lab", "profile", "seed", "state"), rows)
