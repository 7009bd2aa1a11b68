"""The published schema of report.json fits real reports, and would object to others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pairproof.reports import json_schema
from pairproof.reports.make import make_report

ROOT = Path(__file__).parent.parent.parent


def test_the_published_schema_is_current() -> None:
    written = json.loads((ROOT / json_schema.PLACE).read_text(encoding="utf-8"))
    assert written == json_schema.made(), "run python -m pairproof.reports.json_schema"
    jsonschema.Draft202012Validator.check_schema(written)


@pytest.fixture
def report(two_runs: list[Path]) -> Any:
    old = ROOT / "tests" / "harness" / "run-format-1" / "20261126T175358-sim-reference"
    made = make_report([*two_runs, old], two_runs[0].parent / "out", engine="local")
    return json.loads((made.out / "report.json").read_text())


def test_a_report_fits_it(report: Any) -> None:
    jsonschema.validate(report, json_schema.made())
    filled = {name for name, rows in report.items() if isinstance(rows, list) and rows}
    assert filled >= {"runs", "by_run", "findings", "causes", "search", "laws", "trials", "faults"}


@pytest.mark.parametrize(
    "wrong", [{"format": 1}, {"verdict": "fine"}, {"findings": [{"law": "log-prefix"}]}, {"runs": {}}], ids=str
)
def test_what_is_none_does_not(report: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report | wrong, json_schema.made())
