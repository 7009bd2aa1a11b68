"""The report as data for the pages, report.json and junit.xml, independent of the engine.

Sums come from the tables; verdicts over trials are merged only here, by ``harness/judging/verdict.py`` as in ``check``.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa

from pairproof import __version__

from ..harness import registry
from ..harness.exploration import evidence, minimums
from ..harness.exploration.evidence import FEW, Evidence
from ..harness.judging import deviations
from ..harness.judging.verdict import Demands, Standing, Verdict, conclusion, standing
from ..harness.runs import locations, replays
from ..harness.runs.schema import FACTS, Row
from ..harness.texts import invocation
from ..harness.texts.plain import without_secrets
from ..harness.trials.schedule_json import from_json
from . import examined, known_cases, known_deviations, objectives, rejudging, scenarios
from .headline import headline
from .inputs import Corrupt, RunInput
from .measures import SPREADS, VERDICTS

FORMAT = 4  # of report.json

MAX_PAGES = 100
"""Findings with their own page; the others are listed only."""

AS_COUNTED = ("places", "contract", "search", "skipped", "coverage", "problems")

Standings = Mapping[tuple[str, str], Standing]
Tables = Mapping[str, pa.Table]


class Report(NamedTuple):
    """Every table as plain rows, ready for JSON. ``rejudged`` is None without rejudging. All but ``trend`` and
    ``compared`` cover only the judged runs.

    ``histories``, ``problems``, ``latency`` and ``rejudged`` cover only the sampled histories.
    """

    made: str
    version: str
    verdict: str
    headline: str
    amber: bool
    """Nothing is violated, but a run ended early or had too few trials to be green
    (:mod:`harness.exploration.evidence`).
    """
    runs: list[Row]
    scenarios: list[Row]
    by_run: list[Row]
    findings: list[Row]
    causes: list[Row]
    doubts: list[Row]
    broken: list[Row]
    """Table ``firsts``: the first trials of each run that violate each law, or leave it undecided."""
    faults: list[Row]
    places: list[Row]
    contract: list[Row]
    search: list[Row]
    skipped: list[Row]
    objectives: list[Row]
    losses: list[Row]
    coverage: list[Row]
    laws: list[Row]
    corrupt: list[Row]
    histories: list[Row]
    problems: list[Row]
    latency: list[Row]
    rejudged: Row | None
    power: Row | None
    """:func:`pairproof.reports.power.summary`; None until computed."""
    trials: list[Row]
    """Sampled trials with a page, from :func:`pairproof.reports.kept.described`."""
    compared: Row | None
    """Two compared runs: ``before``, ``after``, and the rest of :func:`pairproof.reports.comparing.comparison`."""
    trend: list[Row]
    """Every run, also replaced ones: :func:`pairproof.reports.trend.rows`."""

    @property
    def exit_code(self) -> int:
        """The exit status of a process that reports it: see :func:`pairproof.reports.rejudging.exit_code`."""
        return rejudging.exit_code(self.verdict, (row["state"] for row in self.runs), bool(self.corrupt))

    def to_json(self) -> Row:
        return {"format": FORMAT, **self._asdict()}


def assemble(runs: Sequence[RunInput], corrupt: Sequence[Corrupt], tables: Tables, judging: bool = True) -> Report:
    """Merge counted verdicts, describe runs, laws and findings, and write the headline.

    ``judging``: whether the tables include the verdicts of rejudged histories.
    """
    standings = _standings(runs, tables["by_source"].to_pylist())
    basis = examined.by_run(runs, tables["search_by_run"].to_pylist(), tables["faults_by_run"].to_pylist())
    by_run = [
        _judged(row, standings[row["run"], row["law"]], basis[row["run"]]) for row in tables["by_run"].to_pylist()
    ]
    histories = tables["histories"].to_pylist()
    described = [_described(run, standings, histories, basis[run.run]) for run in runs]
    played = [row for run in runs for row in run.scenarios]
    broken = tables["firsts"].to_pylist()
    firsts = list({(row["run"], row["law"], row["verdict"]): row for row in reversed(broken)}.values())[::-1]
    findings = _findings(runs, firsts)
    verdict = overall(described)
    found = causes(findings)
    sentence = headline(described, by_run, played, found, findings)
    summary = evidence.headline(sentence, verdict, basis)
    # An incomplete run's sentence contains its number of trials already.
    partial = any(run["state"] != rejudging.COMPLETE for run in described)
    sentence = known_deviations.headline(described, verdict, sentence if partial else summary.text)
    return Report(
        made=_now(),
        version=__version__,
        verdict=verdict,
        headline=rejudging.headline(histories, sentence, len(corrupt), verdict == Verdict.VIOLATED),
        amber=summary.amber
        or (verdict == Verdict.HOLDS and (bool(corrupt) or partial or any(map(known_deviations.is_amber, described)))),
        runs=described,
        scenarios=played,
        by_run=by_run,
        findings=findings,
        causes=found,
        doubts=[row for row in firsts if row["verdict"] == Verdict.UNKNOWN],
        broken=broken,
        faults=_faults(tables),
        **{name: tables[name].to_pylist() for name in AS_COUNTED},
        **{name: [objectives.known(row) for row in tables[name].to_pylist()] for name in SPREADS},
        # Every registered law, and those that only the runs name.
        laws=[_law(each) for each in sorted({*registry.names("laws"), *(row["law"] for row in by_run)})],
        corrupt=[each._asdict() for each in corrupt],
        histories=histories,
        rejudged=rejudging.summary(histories, tables["differences"].to_pylist()) if judging else None,
        power=None,
        trials=[],
        compared=None,
        trend=[],
    )


def _now() -> str:
    """UTC; from SOURCE_DATE_EPOCH, if set, for reproducible reports."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    when = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return when.isoformat(timespec="seconds")


def _standings(runs: Sequence[RunInput], by_source: Iterable[Row]) -> Standings:
    """Each run's verdict on each law: the corpus and the searches apart, for the run's demands."""
    demands = {run.run: Demands.of_facts(run.facts) for run in runs}
    seen: dict[tuple[str, str], list[tuple[str, Verdict]]] = {}
    for row in by_source:
        counts = [(row["source"], verdict) for verdict, column in VERDICTS.items() if row[column]]
        seen.setdefault((row["run"], row["law"]), []).extend(counts)
    return {(run, law): standing(law, each, demands[run]) for (run, law), each in seen.items()}


def _judged(row: Row, found: Standing, basis: Evidence) -> Row:
    """A row of counts with its verdict. ``forbidden``: the law judged nothing although the run demands it. ``few``: it
    holds on little evidence.
    """
    few = found.verdict is Verdict.HOLDS and row["exercised"] < FEW and basis.trials is not None
    own = {"verdict": found.verdict.value, "forbidden": bool(found.lacking), "remark": found.lacking or found.remark}
    return row | own | {"few": few}


def _described(run: RunInput, standings: Standings, histories: Iterable[Row], basis: Evidence) -> Row:
    facts = run.facts
    demanded = minimums.of_facts(facts)
    missed = minimums.missed(demanded)
    own = (each for (name, _), each in standings.items() if name == run.run)
    verdict = conclusion(own, missed, deviations.fails(facts))
    # Laws that hold do not fulfil a scenario.
    played = [row["verdict"] for row in run.scenarios]
    rejudged = [rejudging.verdict(row) for row in histories if row["run"] == run.run]
    known = [known_cases.verdict(each) for each in known_cases.of(facts)]
    worst = scenarios.worst([verdict.value, *played, *rejudged, *known])
    # A killed run lacks some of its facts; its scenarios are a separate table.
    described = {name: value for name, value in {**dict.fromkeys(FACTS), **facts}.items() if name != "scenarios"}
    described |= {"minimums": [each._asdict() for each in demanded], "minimums_missed": missed}
    described |= {"evidence": basis.to_json(), "untried": basis.untried}
    return {**described, "folder": without_secrets(str(run.folder)), "verdict": worst}


def completeness(run: Row) -> str:
    """The progress of a run's enumerated searches, in words; empty if it is not recorded."""
    found = run.get("searches")
    entries = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return "; ".join(
        f"{each.get('what')}: {each.get('done'):,} of {each.get('of'):,}{'' if each.get('complete') else ', cut short'}"
        for each in entries
        if isinstance(each.get("done"), int) and isinstance(each.get("of"), int)
    )


def overall(runs: Iterable[Row]) -> str:
    """The worst verdict of the runs, one of :data:`pairproof.reports.scenarios.OF_RUNS`; unknown without any."""
    return scenarios.worst(row["verdict"] for row in runs)


def _findings(runs: Sequence[RunInput], firsts: Iterable[Row]) -> list[Row]:
    found: list[Row] = []
    for run in runs:
        found += [_finding(run, each) for each in run.findings]
        shrunk = {each["law"] for each in found if each["run"] == run.run}
        # A run that ended early may have unshrunk violations.
        rest = [row for row in firsts if row["run"] == run.run and row["verdict"] == Verdict.VIOLATED]
        found += [_unshrunk(run, row) for row in rest if row["law"] not in shrunk]
    return [row | {"number": number} for number, row in enumerate(found, 1)]


def _finding(run: RunInput, recorded: Row) -> Row:
    row: Row = {"run": run.run, "target": run.facts["target"], "lab": run.facts["lab"]}
    row |= {name: recorded.get(name, "") for name in ("law", "text", "replay", "original_ops", "schedule", "cause")}
    row["autopsy"] = invocation.line("autopsy", locations.place(recorded["path"])) if "path" in recorded else ""
    row |= {name: int(recorded.get(name) or 0) for name in ("trial", "shrunk_trial")}
    row |= replayed(recorded.get("path", ""))
    row["program"] = [str(line) for line in recorded.get("program") or program_of(recorded.get("schedule"))]
    row["scenario"] = scenarios.of_seed(run.scenarios, run.run, _seed(recorded.get("schedule")))
    # A scenario's program is shown as written: it is not shrunk.
    return row | {"shrunk": not row["scenario"]}


def replayed(path: str) -> Row:
    """How often a finding was executed again, and how often it showed; ``path``: of its file."""
    entries = replays.read(found) if path and (found := replays.place(locations.place(path))) else []
    return {f"replay_{name}": sum(each[name] for each in entries) for name in ("executed", "showed")}


def _seed(schedule: object) -> str:
    return str(schedule.get("seed", "")) if isinstance(schedule, dict) else ""


def _unshrunk(run: RunInput, first: Row) -> Row:
    row: Row = {"run": run.run, "target": run.facts["target"], "lab": run.facts["lab"], "shrunk": False}
    row |= {"law": first["law"], "text": first["text"] or "", "schedule": None, "program": []}
    row |= dict.fromkeys(("replay", "autopsy", "original_ops", "cause", "scenario"), "")
    row |= replayed("")
    return row | {"trial": first["trial"], "shrunk_trial": first["trial"]}


def causes(findings: Iterable[Row]) -> list[Row]:
    """The findings by the first broken law of their trials: ``first`` is the number of the clearest finding.

    Findings without that fact (of an early ended run, or an older one) are grouped by their trial.
    """
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in findings:
        alike = row["cause"] or f"trial {row['shrunk_trial']} of {row['run']} {row['scenario']}".strip()
        found.setdefault((row["target"], row["lab"], alike), []).append(row)
    return [_cause(target, lab, alike, rows) for (target, lab, alike), rows in found.items()]


def _cause(target: str, lab: str, cause: str, rows: Sequence[Row]) -> Row:
    law = cause.partition(",")[0]
    first = min(rows, key=lambda row: (not row["shrunk"], row["law"] != law, len(row["program"]), row["number"]))
    laws = [first["law"], *sorted({row["law"] for row in rows} - {first["law"]})]
    numbers = [row["number"] for row in rows]
    return {"target": target, "lab": lab, "cause": cause, "laws": laws, "first": first["number"], "findings": numbers}


def with_schedules(findings: Iterable[Row], trials: pa.Table) -> list[Row]:
    """The findings; those without a program get their trial's schedule."""
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
    """A schedule's operations as lines; none for a malformed schedule."""
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


def _law(name: str) -> Row:
    row: Row = {"id": name, "promise": "", "source": "", "needs": []}
    try:
        law: Any = registry.find("laws", name)
    except Exception:
        # A third party's law that is not installed here: its verdicts are shown without its texts.
        return row | {"source": "not installed here"}
    return row | {"promise": law.promise, "source": law.source, "needs": sorted(law.needs)}
