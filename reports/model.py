"""The report as data: what the pages, report.json and junit.xml are made from, whichever engine counted.

Sums come from the tables; this is the only place of the reports room where verdicts over trials are merged, and it
does so with :mod:`pairproof.harness.verdict`, as ``pairproof check`` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import pyarrow as pa

from pairproof.harness import registry
from pairproof.harness.runs.schema import FACTS
from pairproof.harness.schedule import from_json
from pairproof.harness.verdict import Demands, Standing, Verdict, conclusion, over_trials, standing
from pairproof.reports import scenarios
from pairproof.reports.inputs import Corrupt, RunInput
from pairproof.reports.measures import VERDICTS

FORMAT = 1
"""Version of report.json."""

MAX_PAGES = 100
"""Findings that get a page of their own; the others are listed only."""

Row = dict[str, Any]
Tables = Mapping[str, pa.Table]


class Report(NamedTuple):
    """Every table as plain rows, ready for JSON. ``rejudged`` is None where nothing was judged again."""

    made: str
    version: str
    verdict: str
    headline: str
    runs: list[Row]
    scenarios: list[Row]
    matrix: list[Row]
    by_run: list[Row]
    findings: list[Row]
    doubts: list[Row]
    faults: list[Row]
    places: list[Row]
    contract: list[Row]
    search: list[Row]
    skipped: list[Row]
    objectives: list[Row]
    coverage: list[Row]
    laws: list[Row]
    corrupt: list[Row]
    rejudged: Row | None

    def to_json(self) -> Row:
        """A JSON object; ``format`` is its version."""
        return {"format": FORMAT, **self._asdict()}


def assemble(
    runs: Sequence[RunInput], corrupt: Sequence[Corrupt], tables: Tables, rejudged: Row | None = None
) -> Report:
    """Merge counted verdicts, describe runs, laws and findings, and say the whole in one line."""
    must = {run.run: frozenset(run.facts.get("must_not_be_vacuous") or ()) for run in runs}
    by_run = [_judged(row, must[row["run"]]) for row in tables["by_run"].to_pylist()]
    anywhere = frozenset[str]().union(*must.values())
    matrix = [_judged(row, anywhere) for row in tables["matrix"].to_pylist()]
    described = [_described(run, by_run) for run in runs]
    played = [row for run in runs for row in run.scenarios]
    firsts = tables["firsts"].to_pylist()
    findings = _findings(runs, firsts)
    return Report(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        version=_version(),
        verdict=overall(described),
        headline=headline(described, by_run, played),
        runs=described,
        scenarios=played,
        matrix=matrix,
        by_run=by_run,
        findings=findings,
        doubts=[row for row in firsts if row["verdict"] == Verdict.UNKNOWN],
        faults=_faults(tables),
        places=tables["places"].to_pylist(),
        contract=tables["contract"].to_pylist(),
        search=tables["search"].to_pylist(),
        skipped=tables["skipped"].to_pylist(),
        objectives=tables["objectives"].to_pylist(),
        coverage=tables["coverage"].to_pylist(),
        laws=_laws({row["law"] for row in matrix}),
        corrupt=[each._asdict() for each in corrupt],
        rejudged=rejudged,
    )


def merged(row: Row) -> Verdict:
    """One verdict from the counts of a row."""
    return over_trials(verdict for verdict, column in VERDICTS.items() if row[column])


def _judged(row: Row, must: frozenset[str]) -> Row:
    found = standing(row["law"], [("", merged(row))], Demands(by_searches=must))
    return row | {"verdict": found.verdict.value, "forbidden": bool(found.lacking)}


def _described(run: RunInput, by_run: Iterable[Row]) -> Row:
    facts = run.facts
    laws = [row for row in by_run if row["run"] == run.run]
    verdict = conclusion(Standing(Verdict(row["verdict"]), "vacuous" if row["forbidden"] else "") for row in laws)
    # Laws that hold do not make a scenario come true.
    said = scenarios.worst([verdict.value, *(row["verdict"] for row in run.scenarios)])
    # A run that was killed never came to write some of its facts; its scenarios are a table of their own.
    told = {name: value for name, value in {**dict.fromkeys(FACTS), **facts}.items() if name != "scenarios"}
    return {**told, "folder": str(run.folder), "verdict": said}


def overall(runs: Iterable[Row]) -> str:
    """The worst verdict of the runs, one of :data:`pairproof.reports.scenarios.VERDICTS`; unknown without any."""
    return scenarios.worst(row["verdict"] for row in runs)


def headline(runs: Sequence[Row], by_run: Iterable[Row], played: Sequence[Row] = ()) -> str:
    """The report in one sentence, or in two where scenarios were played: what is bad comes first."""
    rows = list(by_run)
    laws, told = _headline_of_laws(runs, rows), scenarios.sentence(played)
    amiss = any(row["verdict"] != scenarios.HOLDS for row in played)
    first = amiss and not any(row["verdict"] == Verdict.VIOLATED for row in rows)
    return " ".join(filter(None, (told, laws) if first else (laws, told)))


def _headline_of_laws(runs: Sequence[Row], rows: Sequence[Row]) -> str:
    counted = {verdict: len({row["law"] for row in rows if row["verdict"] == verdict}) for verdict in Verdict}
    if not runs:
        return "No run could be read."
    if broken := counted[Verdict.VIOLATED]:
        return f"{broken} of {_laws_of(rows)} {'is' if broken == 1 else 'are'} violated."
    doubts = counted[Verdict.UNKNOWN]
    empty = len({row["law"] for row in rows if row["forbidden"]})
    if doubts or empty:
        parts = [f"{doubts} could not be decided"] if doubts else []
        parts += [f"{empty} had nothing to judge although the profile asks for it"] if empty else []
        return f"Nothing is violated, but of {_laws_of(rows)} {' and '.join(parts)}."
    held = counted[Verdict.HOLDS]
    if not held:
        return "Nothing was judged."
    return f"{held} of {_laws_of(rows)} {'was' if held == 1 else 'were'} put to the test, and every one holds."


def _laws_of(rows: Iterable[Row]) -> str:
    number = len({row["law"] for row in rows})
    return f"{number} law{'' if number == 1 else 's'}"


def _findings(runs: Sequence[RunInput], firsts: Iterable[Row]) -> list[Row]:
    found: list[Row] = []
    for run in runs:
        found += [_finding(run, each) for each in run.findings]
        told = {each["law"] for each in found if each["run"] == run.run}
        # A run that ended early may have violations that it had no time to shrink.
        rest = [row for row in firsts if row["run"] == run.run and row["verdict"] == Verdict.VIOLATED]
        found += [_unshrunk(run, row) for row in rest if row["law"] not in told]
    return [row | {"number": number} for number, row in enumerate(found, 1)]


def _finding(run: RunInput, told: Row) -> Row:
    row: Row = {"run": run.run, "target": run.facts["target"], "lab": run.facts["lab"]}
    row |= {name: told.get(name, "") for name in ("law", "text", "replay", "original_ops", "schedule")}
    row |= {name: int(told.get(name) or 0) for name in ("trial", "shrunk_trial")}
    row["program"] = [str(line) for line in told.get("program") or program_of(told.get("schedule"))]
    row["scenario"] = scenarios.of_seed(run.scenarios, run.run, _seed(told.get("schedule")))
    # A scenario's program is shown as it is written: nobody has shrunk it.
    return row | {"shrunk": not row["scenario"]}


def _seed(schedule: object) -> str:
    return str(schedule.get("seed", "")) if isinstance(schedule, dict) else ""


def _unshrunk(run: RunInput, first: Row) -> Row:
    row: Row = {"run": run.run, "target": run.facts["target"], "lab": run.facts["lab"], "shrunk": False}
    row |= {
        "law": first["law"],
        "text": first["text"] or "",
        "replay": "",
        "original_ops": "",
        "schedule": None,
        "scenario": "",
    }
    return row | {"trial": first["trial"], "shrunk_trial": first["trial"], "program": [], "scenario": ""}


def with_schedules(findings: Iterable[Row], trials: pa.Table) -> list[Row]:
    """The findings, those without a program completed from their trial's own schedule."""
    texts = {(row["run"], row["trial"]): row["schedule"] for row in trials.to_pylist()}
    done = []
    for row in findings:
        text = texts.get((row["run"], row["shrunk_trial"]))
        if not row["program"] and text:
            schedule = json.loads(text)
            row = row | {"schedule": schedule, "program": program_of(schedule)}
        done.append(row)
    return done


def program_of(schedule: object) -> list[str]:
    """A schedule's operations as lines; none for what is not a schedule (the finding is shown without)."""
    try:
        return from_json(schedule).program()
    except Exception:
        return []


def wanted_trials(findings: Sequence[Row]) -> list[tuple[str, int]]:
    """The trials whose histories the pages draw."""
    return [(row["run"], row["shrunk_trial"]) for row in findings[:MAX_PAGES]]


def _faults(tables: Tables) -> list[Row]:
    effects: dict[tuple[str, str], dict[str, int]] = {}
    for row in tables["effects"].to_pylist():
        effects.setdefault((row["name"], row["lab"]), {})[row["effect"]] = row["amount"]
    return [row | {"effect": effects.get((row["name"], row["lab"]), {})} for row in tables["faults"].to_pylist()]


def _laws(judged: set[str]) -> list[Row]:
    """Every registered law, and those that only the runs know."""
    known = registry.names("laws")
    return [_law(each) for each in sorted({*known, *judged})]


def _law(name: str) -> Row:
    row: Row = {"id": name, "promise": "", "source": "", "needs": []}
    try:
        law: Any = registry.find("laws", name)
    except Exception:
        # A third party's law, judged where it was installed: its verdicts are shown, its words are missing.
        return row | {"source": "not installed here"}
    return row | {"promise": law.promise, "source": law.source, "needs": sorted(law.needs)}


def _version() -> str:
    try:
        return version("pairproof")
    except PackageNotFoundError:
        return "unknown"
