"""The schema of report.json, for editors and programs: ``docs/report.schema.json``.

``python -m pairproof.reports.json_schema [FILE]`` writes it; a test compares. Columns of counted tables come from their
declarations. Objects may have additional fields: new fields do not change ``format``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from ..harness.commands.json_schema import DRAFT, FLAG, NUMBER, TEXT, Schema, keys, text
from ..harness.exploration.evidence import Evidence
from ..harness.judging.verdict import Verdict
from ..harness.runs.schema import FACTS
from . import scenarios
from .measures import FIRSTS, HISTORIES, LISTS, MEASURES, PERCENTILES, SPREADS
from .model import FORMAT, Report

PLACE = Path("docs/report.schema.json")

ANY = Schema()
TEXTS, NUMBERS = {"type": "array", "items": TEXT}, {"type": "array", "items": NUMBER}
OPTIONAL = {"type": ["integer", "null"]}
JUDGED = {"enum": [each.value for each in Verdict]}
TOLD, OF_RUNS = {"enum": list(scenarios.VERDICTS)}, {"enum": list(scenarios.OF_RUNS)}
OBJECT = {"type": ["object", "null"]}

BY_HAND: dict[str, Schema] = {
    "runs": {
        "run": TEXT, "target": TEXT, "lab": TEXT, "folder": TEXT, "verdict": OF_RUNS, "state": TEXT, "untried": TEXT,
        "evidence": keys(
            {"trials": OPTIONAL, "corpus_trials": NUMBER, "not_played": TEXTS, "without_effect": TEXTS, "little": FLAG},
            (*Evidence._fields, "little"),
            others=True,
        ),
    },
    "scenarios": {"run": TEXT, "target": TEXT, "lab": TEXT, "name": TEXT, "verdict": TOLD, "reasons": TEXTS},
    "findings": {
        "number": NUMBER, "run": TEXT, "target": TEXT, "lab": TEXT, "law": TEXT, "text": TEXT, "cause": TEXT,
        "program": TEXTS, "schedule": OBJECT, "replay": TEXT, "trial": NUMBER, "shrunk_trial": NUMBER, "shrunk": FLAG,
        "scenario": TEXT, "replay_executed": NUMBER, "replay_showed": NUMBER,
    },
    "causes": {"target": TEXT, "lab": TEXT, "cause": TEXT, "laws": TEXTS, "first": NUMBER, "findings": NUMBERS},
    "laws": {"id": TEXT, "promise": TEXT, "source": TEXT, "needs": TEXTS},
    "corrupt": {"folder": TEXT, "reason": TEXT},
    "trials": {
        "number": NUMBER, "run": TEXT, "trial": NUMBER, "origin": TEXT, "seed": TEXT, "events": NUMBER,
        "scenario": TEXT, "judged": NUMBER, "violated": TEXTS, "unknown": TEXTS, "schedule": OBJECT,
    },
}  # fmt: skip
"""Rows that no table declares."""

NUMBERED = frozenset(("rank", "trial", "seq", "stored_judged", "again_judged"))
"""Keys of counted rows, and columns of lists, that are numbers; all others are texts."""


def made() -> Schema:
    """The schema of report.json."""
    rows = {
        name: _keys(columns)
        for name, columns in (("doubts", FIRSTS), ("broken", FIRSTS), ("problems", LISTS["problems"]))
    }
    rows |= {name: _keys(each.keys) | _numbers(each.sums) for name, each in MEASURES.items()}
    rows |= {name: _keys(each.keys) | _numbers(each.columns[len(each.keys) :]) for name, each in SPREADS.items()}
    rows["histories"] = _keys(HISTORIES.keys) | _numbers(HISTORIES.sums)
    rows["by_run"] |= {"verdict": JUDGED, "forbidden": FLAG, "few": FLAG, "remark": TEXT}
    rows["faults"] |= {"effect": OBJECT}
    rows |= BY_HAND
    fields = {name: _rows(rows[name]) for name in Report._fields if name in rows}
    fields |= {"format": {"const": FORMAT}, "verdict": OF_RUNS, "amber": FLAG}
    fields |= dict.fromkeys(("rejudged", "power", "compared"), OBJECT)
    fields |= dict.fromkeys(("made", "version", "headline"), TEXT)
    return {
        "$schema": DRAFT,
        "title": "pairproof report.json",
        "description": f"Facts of runs: {', '.join(FACTS)}. Times whose names end in _ns are nanoseconds.",
        "type": "object",
        "required": ["format", *Report._fields],
        "properties": fields,
    }


def _rows(columns: Schema) -> Schema:
    return {"type": "array", "items": {"type": "object", "required": list(columns), "properties": columns}}


def _keys(names: Iterable[str]) -> Schema:
    return {name: OPTIONAL if name in NUMBERED else {"type": ["string", "null"]} for name in names}


def _numbers(names: Iterable[str]) -> Schema:
    # Values that stayed open have no percentiles.
    return {name: OPTIONAL if name in PERCENTILES else NUMBER for name in names}


if __name__ == "__main__":
    path = Path(sys.argv[1]) if sys.argv[1:] else PLACE
    path.write_text(text(made()), encoding="utf-8")
