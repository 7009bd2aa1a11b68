"""Renders a report as one folder of HTML that opens from disk: no network, no required script, no Spark.

Every page has its own style and drawings. Texts are for a broker's maintainer who is new to this project.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..harness.event_types.text import plain
from ..harness.history import Event
from ..harness.judging.law_groups import grouped
from ..harness.judging.verdict import Verdict
from ..harness.rocketmq.autopsy import autopsy, message_of
from ..harness.rocketmq.naming import ms
from ..harness.rocketmq.settings import DEFAULTS
from ..harness.runs import atomic
from ..harness.runs.schema import Row
from ..harness.texts import wording
from ..harness.texts.folding import folded
from . import (
    comparing,
    coverage,
    effects,
    examined,
    fault_places,
    known_deviations,
    logs,
    objectives,
    overview,
    power,
    rejudging,
    releases,
    scenarios,
    traced,
    trend,
)
from .charts import LOOKS
from .events import words
from .figures import chance, number, percent, short, span, when
from .folding import Line, fold
from .measures import MAX_FIRSTS
from .model import MAX_PAGES, Report, completeness, program_of
from .scene import scene, spans
from .timeline import draw

BEFORE, AFTER = 16, 4
NEAR = 400

SHOWN_KEYS = ("brokerRole", "flushDiskType")
"""Configuration keys that a finding shows for each node: the durability contract depends on them."""

MEANINGS = {
    "violated": ("✕", "at least one trial broke the promise"),
    "unknown": ("?", "a law could not decide, or failed itself, and nothing worse was seen"),
    "known-deviation": ("≈", "broken, but only by known deviations of the tested version"),
    "vacuous": ("○", "no trial exercised the law, so nothing is known"),
    "holds": ("✓", "judged in at least one trial, and never broken"),
    "not-observable": ("–", "this lab cannot record the events that the law needs"),
    "not-applicable": ("–", "the law is about a feature that this pair lacks"),
}

MAX_LINES = 40
"""Lines of a program on a finding's page: a scenario's may have a thousand."""
MAX_RUNS, MAX_DETAILED = 2_000, 40
"""Runs with a line on the page of runs, and those with a line per law."""
MAX_SECTIONS = 500
"""Sections of the page of red trials: one per run and law."""

Histories = Mapping[tuple[str, int], Sequence[Event]]
Seen = Mapping[tuple[str, int, str], int]


def write(report: Report, histories: Histories, seen: Seen, out: Path, strength: Row | None = None) -> Path:
    """Write every page under ``out``; returns the path of index.html.

    ``histories``: events by run and trial, of the findings' trials. ``seen``: by run, trial and law, the ``seq`` of the
    event at which that trial first broke that law. ``strength``: a measurement of :mod:`pairproof.reports.power`;
    without it that page is left out.
    """
    pages = _environment(report)
    folders = {row["run"]: Path(row["folder"]) for row in report.runs}
    laws_too = _laws_too(report)
    for finding in report.findings[:MAX_PAGES]:
        key = (finding["run"], finding["shrunk_trial"])
        alike = laws_too.get(finding["number"], [])
        shown = {"others": alike} | _finding(finding, histories.get(key, ()), seen.get((*key, finding["law"])))
        shown["logs"] = logs.of_trial(folders[finding["run"]], finding["shrunk_trial"])
        html = pages.get_template("finding.html").render(root="../", here="findings", **shown)
        atomic.put_text(out, f"findings/{page_name(finding)}", html)
    for row in report.trials:
        html = pages.get_template("trial.html").render(
            root="../", here="trials", **_trial(row, histories.get((row["run"], row["trial"]), ()))
        )
        atomic.put_text(out, f"trials/{page_name(row)}", html)
    shown_by: dict[str, dict[str, Any]] = {
        "faults": _faults(report), "runs": _runs(report), "index": overview.shown(report),
        "laws": {"groups": grouped(law["id"] for law in report.laws)},
        "coverage": {"grid": coverage.grid(report.coverage)},
        "losses": objectives.page(report),
    }  # fmt: skip
    if report.broken or report.trials:
        shown_by["trials"] = _broken(report)
    if pages.globals["releases"]:
        shown_by["releases"] = {}
    if report.compared is not None:
        shown_by["compared"] = _compared(report)
    if strength is not None:
        shown_by["power"] = power.shown(strength)
    for name, shown in shown_by.items():
        html = pages.get_template(f"{name}.html").render(root="", here=name, **shown)
        atomic.put_text(out, f"{name}.html", html)
    return out / "index.html"


def page_name(row: Row) -> str:
    """The file of a finding's page in ``findings/``, or of a sampled trial's in ``trials/``."""
    return f"{row['number']:03}.html"


def environment() -> Environment:
    """The environment of templates; every page adds its own filters."""
    return Environment(
        loader=PackageLoader("pairproof.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _environment(report: Report) -> Environment:
    made = environment()
    made.filters |= {"number": number, "short": short, "span": span, "when": when, "page": page_name}
    made.filters |= {"searched": completeness, "is_amber": examined.is_amber}
    made.filters |= {"upstream": known_deviations.upstream, "deviates": known_deviations.is_amber}
    made.filters |= {"percent": percent, "chance": chance}
    made.filters["folded"] = folded
    made.filters["search"] = wording.search
    made.filters["plain"] = lambda text: text.replace("_", " ")
    made.globals |= {
        "report": report,
        "releases": releases.of(report),
        "meanings": MEANINGS | scenarios.MEANINGS,
        "law_meanings": MEANINGS,
        "laws": {law["id"]: law for law in report.laws},
        "runs_by_name": {row["run"]: row for row in report.runs},
        "of_scenario": {(row["run"], row["scenario"]): row for row in report.trials if row["scenario"]},
        "folders": {row["run"]: row["folder"] for row in report.runs},
        "max_pages": MAX_PAGES,
        "max_lines": MAX_LINES,
    }
    return made


def _compared(report: Report) -> dict[str, Any]:
    compared = report.compared or {}
    changes = [(change, words, [row for row in compared["laws"] if row["change"] == change])
               for change, words in comparing.WORDS.items()]  # fmt: skip
    return {
        "changes": [each for each in changes if each[2] and each[0] != comparing.NONE],
        "never": [row for change, _, rows in changes for row in rows if change == comparing.NONE],
        "words": comparing.OF_CAUSES,
        "chance": comparing.CHANCE,
    }


def _runs(report: Report) -> dict[str, Any]:
    urgent = sorted(report.runs, key=lambda row: str(row["began"]), reverse=True)
    urgent.sort(key=lambda row: row["verdict"] in (scenarios.HOLDS, Verdict.DEVIATES))
    of_run: dict[str, list[Row]] = {}
    for row in report.by_run:
        of_run.setdefault(row["run"], []).append(row)
    return {
        "max_runs": MAX_RUNS,
        "detailed": {row["run"] for row in urgent[:MAX_DETAILED]},
        "of_run": of_run,
        "again": {row["run"]: given for row in report.histories if (given := rejudging.of_run(row))},
        "over_time": trend.draw(report.trend) if len(report.trend) > 1 else "",
    }


def _broken(report: Report) -> dict[str, Any]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in report.broken:
        found.setdefault((row["run"], row["law"]), []).append(row)
    # Violated ones first, grouped by run.
    order = sorted(found.items(), key=lambda each: each[1][-1]["verdict"] != Verdict.VIOLATED)
    return {"sections": order[:MAX_SECTIONS], "most": MAX_FIRSTS, "linked": overview.linked(report.findings)}


def _faults(report: Report) -> dict[str, Any]:
    return {
        "where": fault_places.grid(report.places),
        "glossary": effects.glossary(report.faults),
        "power": effects.power_losses(report.faults),
        "did": effects.shown,
        "latency": traced.latency(report.latency),
    }


def _laws_too(report: Report) -> dict[int, list[Row]]:
    """By number of a finding, the first finding of each other law with the same cause."""
    law_of = {row["number"]: row["law"] for row in report.findings}
    return {
        number: [row for row in (first, *laws) if row["law"] != law_of[number]]
        for cause, (first, laws, _) in zip(report.causes, overview.cards(report), strict=True)
        for number in cause["findings"]
    }


def _finding(finding: Row, events: Sequence[Event], at: int | None) -> dict[str, Any]:
    broken = next((event for event in events if event.seq == at), None)
    label = f"trial {finding['shrunk_trial']}, which violates {finding['law']}"
    message = message_of(events, at, finding["text"])
    traced = autopsy(events, message) if message is not None else None
    return _drawn(finding["schedule"], finding["program"], events, at, label) | {
        "finding": finding,
        "breaking": {"time": ms(broken.t), "words": words(broken)} if broken else None,
        "around": _around(events, at),
        "under": under(events, at) if events else "",
        "traced": traced,
        "steps": [{"seq": line.seq, "time": ms(line.t), "words": line.text} for line in traced.lines] if traced else [],
    }


def _trial(row: Row, events: Sequence[Event]) -> dict[str, Any]:
    label = f"trial {row['trial']} of {row['run']}"
    drawn = _drawn(row["schedule"], program_of(row["schedule"]), events, None, label)
    return drawn | {"trial": row, "took": max((event.t for event in events), default=0)}


def _drawn(
    schedule: object, program: Sequence[str], events: Sequence[Event], at: int | None, label: str
) -> dict[str, Any]:
    shown = scene(events)
    return _settings(schedule) | {
        "program": folded(program),
        "roles": _roles(events),
        "timeline": draw(events, at, f"Timeline of {label}") if events else None,
        "nodes": list(zip(shown.nodes, LOOKS, strict=False)),
        "consumers": bool(shown.groups),
        "syncs": bool(shown.syncs),
    }


def _settings(schedule: object) -> dict[str, dict[str, str]]:
    """``settings``: the trial's settings other than defaults; ``usual``: the defaults. A slave's are left out if they
    equal the master's.
    """
    given = schedule.get("settings", {}) if isinstance(schedule, dict) else {}
    found: dict[str, dict[str, str]] = {"settings": {}, "usual": {}}
    for key, value in sorted(given.items()):
        node, _, name = key.rpartition(".")
        doubled = node.startswith("slave") and given.get(name) == value
        which = "usual" if doubled or DEFAULTS.get(name) == value else "settings"
        found[which][key] = value if isinstance(value, str) else json.dumps(value)
    return found


def _roles(events: Sequence[Event]) -> list[tuple[str, str]]:
    found = []
    for event in events:
        if event.kind == "config":
            given = json.loads(event.detail or "{}")
            found.append((str(event.node), ", ".join(str(given[key]) for key in SHOWN_KEYS if key in given)))
    return found


def _around(events: Sequence[Event], at: int | None) -> list[Row]:
    if at is None:
        return []
    lines = fold((event for event in events if at - NEAR <= event.seq <= at + NEAR), keep=at)
    here = next((number for number, line in enumerate(lines) if line.first.seq == at), 0)
    return [
        {"seq": _numbers(line), "time": ms(line.first.t), "words": line.words, "here": line.first.seq == at}
        for line in lines[max(0, here - BEFORE) : here + AFTER + 1]
    ]


def _numbers(line: Line) -> str:
    first, last = line.first.seq, line.last.seq
    return str(first) if first == last else f"{first}–{last}"


def under(events: Sequence[Event], at: int | None) -> str:
    """The faults under which the law was broken, as the end of a sentence."""
    known = list(spans(event for event in events if at is None or event.seq <= at))
    if active := [began for began, ended in known if ended is None]:
        return f"while {_named(active)} {'was' if len(active) == 1 else 'were'} active"
    if known:
        return f"after {_named(began for began, _ in known)} had ended"
    return "before any fault began" if any(event.kind == "fault" for event in events) else "without any fault"


def _named(faults: Iterable[Event]) -> str:
    named = [f"{event.f} ({detail})" if (detail := plain(event.detail)) else str(event.f) for event in faults]
    return f"fault{'' if len(named) == 1 else 's'} {' and '.join(dict.fromkeys(named))}"
