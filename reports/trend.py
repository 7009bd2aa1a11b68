"""Runs over time: a row for each run of a report, and one drawing of their trials, losses and verdicts.

Rows are ordered by start. Left out: changes from one run to the next law by law (``report --compare``), and a mutation
score, which belongs to a version of the laws and not to a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ..harness.runs.schema import Row
from ..harness.texts.wording import counted
from . import examined, series
from .figures import when
from .rejudging import COMPLETE
from .svg import Svg

WIDTH, LEFT, RIGHT, HEIGHT, TOP, FOOT = 1100, 62, 80, 150, 30, 36
MAX_TOLD = 12
MAX_BARS = 120
"""Runs drawn, the newest ones; the table has all."""


def rows(reports: Iterable[Any], replaced_by: Mapping[str, str], losses: Iterable[Row]) -> list[Row]:
    """For each run: its facts in short, verdict, causes as texts, losses, and ``replaced_by``, the run that is judged
    instead (empty for a judged one). ``reports``: of the judged runs, and of the others.
    """
    lost = {row["run"]: row for row in losses}
    nothing: Row = {"acknowledged": 0, "lost": 0}
    found = []
    for report in reports:
        causes = _causes(report)
        for run in report.runs:
            own = lost.get(run["run"], nothing)
            row = {name: run[name] for name in ("run", "target", "lab", "profile", "began", "state", "verdict")}
            row |= {"trials": run["trials"] or 0, "amber": examined.is_amber(run), "commit": run.get("commit") or ""}
            row |= {"causes": causes.get(run["run"], []), "acknowledged": own["acknowledged"], "lost": own["lost"]}
            row |= {"asked": list(series.question(run))}
            found.append(row | {"replaced_by": replaced_by.get(run["run"], "")})
    return sorted(found, key=lambda row: str(row["began"]))


def _causes(report: Any) -> dict[str, list[Row]]:
    findings = {row["number"]: row for row in report.findings}
    found: dict[str, list[Row]] = {}
    for cause in report.causes:
        first = findings[cause["first"]]
        for run in dict.fromkeys(findings[each]["run"] for each in cause["findings"]):
            found.setdefault(run, []).append({"cause": cause["cause"] or first["law"], "text": first["text"]})
    return found


def _before(trend: Sequence[Row], run: Row) -> Row | None:
    """The newest run that this one replaces, or the newest complete one that precedes an incomplete one."""
    if run["state"] == COMPLETE:
        return next((row for row in reversed(trend) if row["replaced_by"] == run["run"]), None)
    earlier = (row for row in reversed(trend) if str(row["began"]) < str(run["began"]) and row["state"] == COMPLETE)
    # Runs of one commit are shards.
    other = (row for row in earlier if not run["commit"] or row["commit"] != run["commit"])
    return next((row for row in other if row["asked"] == run["asked"]), None)


def since(trend: Sequence[Row]) -> list[Row]:
    """For each judged run that follows another: that one, and the causes that are new, gone, and unchanged. An
    incomplete run is named only if it is worse: a cause that it lacks may not have been executed.
    """
    found = []
    for row in trend:
        earlier = None if row["replaced_by"] else _before(trend, row)
        if earlier:
            now, then = ({each["cause"] for each in side["causes"]} for side in (row, earlier))
            new, gone, still = sorted(now - then), sorted(then - now), sorted(now & then)
            word = "Worse" if new else "Better" if gone else "Same"
            if new or row["state"] == COMPLETE:
                text = f"{counted(len(new), 'new cause')}, {len(gone)} gone, {len(still)} as before"
                found.append({"run": row, "before": earlier, "word": word, "new": new, "said": text})
    return found


def sentences(trend: Sequence[Row]) -> list[str]:
    """The results of :func:`since`, a line each, for the terminal and for Markdown."""
    found = []
    for each in since(trend)[:MAX_TOLD]:
        run = f"{each['run']['run']}, {each['run']['state']}"
        found.append(f"Since {when(each['before']['began'])}: {each['word']} ({run}): {each['said']}.")
    return found


def draw(trend: Sequence[Row]) -> Markup:
    """A bar for each run: height: trials; colour: verdict; causes and losses are above it."""
    shown = trend[-MAX_BARS:]
    highest = max((row["trials"] for row in shown), default=0) or 1
    wide = min(80.0, (WIDTH - LEFT - RIGHT) / max(1, len(shown)))
    width = LEFT + wide * len(shown) + RIGHT
    svg = Svg(width, "Trials of each run, by verdict, ordered by time")
    bottom = TOP + HEIGHT
    for share in (0.0, 0.5, 1.0):
        y = bottom - HEIGHT * share
        svg.line(LEFT, y, width, y, "grid")
        svg.text(LEFT - 8, y + 4, f"{round(highest * share):,}", "unit")
    svg.text(LEFT - 8, 12, "Trials", "name")
    for at, row in enumerate(shown):
        x = LEFT + wide * at
        height = max(2.0, HEIGHT * row["trials"] / highest)
        verdict = "amber" if row["amber"] else row["verdict"]
        title = f"{row['run']}: {verdict}, {counted(row['trials'], 'trial')}, {counted(len(row['causes']), 'cause')}"
        svg.rect(x + 2, bottom - height, wide - 4, height, f"bar {verdict}", title)
        if row["causes"] and wide >= 14:
            svg.text(x + wide / 2, bottom - height - 4, f"✕{len(row['causes'])}", "above violated", title)
        if at == 0 or (at == len(shown) - 1 and at > 2):
            svg.text(x, bottom + 18, when(row["began"]), "time")
    return svg.done(bottom + FOOT - 10)
