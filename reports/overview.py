"""The first page: what was tested, the findings, their cost, the remedies; then the trials and the matrix.

Findings precede caveats, which are folded. A group of laws is open only if one of them needs attention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..harness.exploration.evidence import FEW
from ..harness.judging.law_groups import grouped
from ..harness.judging.verdict import Verdict
from ..harness.runs.schema import Row
from ..harness.texts.wording import counted, search
from . import known_deviations, objectives, scenarios, series, trend, untested
from .axis import seconds
from .model import MAX_PAGES, Report, completeness
from .rejudging import COMPLETE
from .traced import SIMULATED

UNREMARKABLE = (Verdict.HOLDS, Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE, Verdict.VACUOUS)
SAID = {
    Verdict.HOLDS: "hold", Verdict.DEVIATES: "known to deviate", Verdict.NOT_OBSERVABLE: "not observable",
    Verdict.NOT_APPLICABLE: "not applicable", Verdict.VACUOUS: "not tested",
}  # fmt: skip

CONTRACT = "contract"
SURE = 0.05
"""The remaining probability."""
MAX_COLUMNS = 12
"""Runs in the matrix; the page of runs has all."""
MAX_GREEN = 12
MAX_BARS = 40
MAX_HEADLINE = 160
"""Characters of a headline in large print; a longer one is cut to its first sentence."""


def shown(report: Report) -> dict[str, Any]:
    """For ``index.html``."""
    scenes = scenarios.lines(report.scenarios)
    columns = _columns(report)
    cells = {(row["law"], row["run"]): row for row in report.by_run}
    caveats = untested.caveats(report)
    return {
        "columns": columns,
        "left": len({row["run"] for row in report.by_run}) - len(columns),
        "groups": matrix(cells, {run["run"]: run["state"] == COMPLETE for run in columns}),
        "cells": cells,
        "cards": cards(report),
        "linked": linked(report.findings),
        "deviations": known_deviations.cards(report.runs),
        "not_met": known_deviations.not_met(report.runs),
        "configurations": known_deviations.configurations(report.runs),
        "max_configurations": known_deviations.MAX_CONFIGURATIONS,
        "grave": [each for each in caveats if each.grave],
        "caveats": [each for each in caveats if not each.grave],
        "headline": report.headline.partition(". " if len(report.headline) > MAX_HEADLINE else "\n"),
        "tested": _tested(report),
        "bad": _how_bad(report),
        "lost": {"played": objectives.corpora(report.runs)},
        "since": trend.since(report.trend),
        "status": _status(report),
        "bars": bars(report),
        "sure": _sure(report),
        "scenes": scenes,
        "played_in": scenarios.places(report.scenarios),
        "left_out": scenarios.left_out(report.runs),
        "grey": [line for line in scenes if line.verdict != scenarios.HOLDS],
        "green": [line for line in scenes if line.verdict == scenarios.HOLDS],
        "max_green": MAX_GREEN,
    }


def matrix(cells: Mapping[tuple[str, str], Row], runs: Mapping[str, bool]) -> list[Row]:
    """Laws by group: ``title``, ``summary`` (``24 of 26 hold, 2 violated``), ``look`` (laws that need attention) and
    ``rest``; groups with such a law come first. ``runs``: whether each is complete; others may have had no time to
    exercise a law.
    """
    worst: dict[str, Verdict] = {}
    for (law, run), cell in cells.items():
        if run in runs:
            verdict = Verdict.UNKNOWN if cell["forbidden"] and runs[run] else Verdict(cell["verdict"])
            worst[law] = min(worst.get(law, verdict), verdict, key=list(Verdict).index)
    found = []
    for title, laws in grouped(sorted(worst)):
        look = [law for law in laws if worst[law] not in UNREMARKABLE]
        look.sort(key=lambda law: list(Verdict).index(worst[law]))
        rest = [law for law in laws if worst[law] in UNREMARKABLE]
        row = {"title": title, "summary": summary([worst[law] for law in laws]), "look": look, "rest": rest}
        found.append(row | {"rest_summary": summary([worst[law] for law in rest])})
    return sorted(found, key=lambda row: not row["look"])


def summary(verdicts: Sequence[Verdict]) -> str:
    """``24 of 26 hold, 2 violated``."""
    number = Counter(verdicts)
    more = [
        f"{number[each]} {SAID.get(each, each.value)}" for each in Verdict if number[each] and each != Verdict.HOLDS
    ]
    return ", ".join([f"{number[Verdict.HOLDS]} of {len(verdicts)} hold", *more])


def _tested(report: Report) -> list[str]:
    found: dict[tuple[str, str], list[Row]] = {}
    for run in report.runs:
        found.setdefault((run["target"], run["lab"]), []).append(run)
    faults = {name: {row["name"] for row in report.faults if row["bit"] and row["lab"] == name} for _, name in found}
    lines = []
    for (target, lab), runs in found.items():
        versions = {
            f"pairproof {run['versions']['pairproof']}" for run in runs if (run["versions"] or {}).get("pairproof")
        }
        trials = counted(sum(run["trials"] or 0 for run in runs), "trial")
        parts = [f"{target} in the {lab} lab", trials, f"{counted(len(faults[lab]), 'kind')} of fault that took effect"]
        own = runs[0]
        parts += [f"profile {own['profile']}, seed {own['seed']}"] if len(runs) == 1 and own["profile"] else []
        parts += sorted({", ".join(lines) for run in runs if (lines := series.brought(run))})
        lines.append("; ".join([*parts, *sorted(versions)]))
    return lines


def _how_bad(report: Report) -> list[str]:
    """The cost: trials that violate a law, lost acknowledged messages, and the longest time without a stored send.
    Virtual time is left out: it depends on the program.
    """
    red, trials = (sum(row[name] for row in report.search) for name in ("violated", "trials"))
    lines = [f"{red:,} of {counted(trials, 'trial')} violate a law"] if red else []
    lines += [objectives.sentence(report.losses).rstrip(".")] if report.losses else []
    allowed = [row["verdict"] == Verdict.HOLDS for row in report.by_run if row["law"] == CONTRACT]
    if allowed and all(allowed) and any(row["lost"] for row in report.losses):
        lines.append("The contract of these settings allows each of these losses")
    rto = [
        row for row in report.objectives
        if row["what"] == "rto_ns" and row["max"] is not None and row["lab"] != SIMULATED
    ]  # fmt: skip
    if rto:
        most = max(rto, key=lambda row: row["max"])
        cause = objectives.CAUSES.get(most["cause"], most["cause"])
        lines.append(f"At most {seconds(most['max'])} without a stored send, over all trials (master {cause})")
    return lines


def _status(report: Report) -> dict[int, str]:
    """By number of a cause's first finding: new, as in the previous run, or flaky; nothing without a previous run."""
    found: dict[int, str] = {}
    of_run = {row["run"]["run"]: row for row in trend.since(report.trend)}
    by_number = {row["number"]: row for row in report.findings}
    for cause in report.causes:
        first = by_number[cause["first"]]
        executed, showed = first["replay_executed"], first["replay_showed"]
        if executed and 0 < showed < executed:
            found[cause["first"]] = f"flaky: it showed in {showed} of {executed} replays"
        elif before := of_run.get(first["run"]):
            found[cause["first"]] = (
                "new" if (cause["cause"] or first["law"]) in before["new"] else "known from the run before"
            )
    return found


def bars(report: Report) -> Row:
    """Trials and violating ones: by search, or by target and lab if there are several."""
    places = {(row["target"], row["lab"]) for row in report.search}
    found: dict[str, Counter[str]] = {}
    for row in report.search:
        name = search(row["origin"]) if len(places) == 1 else f"{row['target']} in {row['lab']}"
        found.setdefault(name, Counter()).update({"trials": row["trials"], "violated": row["violated"]})
    far = _completeness(report) if len(report.runs) == 1 else {}
    rows: list[Row] = [{"name": name, **amounts, "of": far.get(name, "")} for name, amounts in found.items()]
    rows.sort(key=lambda row: -row["trials"])
    most = max((row["trials"] for row in rows), default=0)
    what = "search" if len(places) == 1 else "target and lab"
    return {"rows": rows[:MAX_BARS], "most": most, "what": what, "trials": sum(row["trials"] for row in rows)}


def _completeness(report: Report) -> dict[str, str]:
    lines = (each.partition(": ") for run in report.runs for each in completeness(run).split("; "))
    return {name: amount.partition(",  ")[0] for name, _, amount in lines}


def _columns(report: Report) -> list[Row]:
    judged = {row["run"] for row in report.by_run}
    runs = [row for row in report.runs if row["run"] in judged]
    alike = Counter((row["target"], row["lab"]) for row in runs)
    newest = sorted(runs, key=lambda row: str(row["began"]))[-MAX_COLUMNS:]
    shown = sorted(newest, key=lambda row: (row["target"], row["lab"], str(row["began"])))
    return [row | {"only": alike[row["target"], row["lab"]] == 1} for row in shown]


def cards(report: Report) -> list[tuple[Row, list[Row], list[Row]]]:
    """For each cause the clearest finding, the first finding of each other law, and other programs."""
    by_number = {row["number"]: row for row in report.findings}
    cards = []
    for cause in report.causes:
        first = by_number[cause["first"]]
        rows = [by_number[number] for number in cause["findings"]]
        laws = [next(row for row in rows if row["law"] == law) for law in cause["laws"][1:]]
        programs = {tuple(row["program"]): row for row in reversed(rows) if row["program"] != first["program"]}
        cards.append((first, laws, sorted(programs.values(), key=lambda row: row["number"])))
    return cards


def linked(findings: Iterable[Row]) -> dict[tuple[str, str], Row]:
    """By law and run, the finding with the shortest program, for the matrix's links."""
    found: dict[tuple[str, str], Row] = {}
    for row in sorted(findings, key=lambda row: (not row["shrunk"], len(row["program"]), row["number"])):
        if row["number"] <= MAX_PAGES:
            found.setdefault((row["law"], row["run"]), row)
    return found


def _sure(report: Report) -> list[Row]:
    """For each target and lab, the rarest violation that its trials would have shown with 95 %: one in so many."""
    played = Counter[tuple[str, str]]()
    for row in report.search:
        played[row["target"], row["lab"]] += row["trials"]
    return [
        {"target": target, "lab": lab, "trials": trials, "one_in": max(1, int(1 / (1 - SURE ** (1 / trials))))}
        for (target, lab), trials in sorted(played.items())
        if trials >= FEW
    ]
