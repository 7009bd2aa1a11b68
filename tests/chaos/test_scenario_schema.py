"""Published schemas of what is written by hand, and of cases: current; they take what is right, and refuse the rest."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pairproof.chaos.scenarios import json_schema as of_scenarios
from pairproof.harness.commands import json_schema

ROOT = Path(__file__).resolve().parents[2]
FILES = {**json_schema.files(), of_scenarios.NAME: json_schema.text(of_scenarios.made())}
SCENARIOS = sorted(ROOT.glob("chaos/scenarios/*.yaml"))
CASES = sorted([*ROOT.glob("examples/*/cases/*.json"), *ROOT.glob("docs/findings/*/finding.json")])


def complaints(name: str, written: Any) -> list[str]:
    return [each.message for each in jsonschema.Draft202012Validator(json.loads(FILES[name])).iter_errors(written)]


@pytest.mark.parametrize("name", FILES)
def test_the_published_schema_is_current(name: str) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == FILES[name], "run the modules named json_schema"
    jsonschema.Draft202012Validator.check_schema(json.loads(FILES[name]))


def test_each_scenario_keeps_the_schema() -> None:
    assert len(SCENARIOS) > 40
    wrong = {path.name: complaints(of_scenarios.NAME, yaml.safe_load(path.read_text())) for path in SCENARIOS}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    "change",
    [
        {"abuot": "x"},
        {"expect": {"judgd": []}},
        {"timeline": [{"at": "1s", "fault": "down", "heal": "x"}]},
        {"timeline": [{"at": "1s"}]},
        {"workload": [{"send": {"every": "1s"}}]},
        {"workload": [{"sned": {"every": "1s", "for": "1s"}}]},
        {"repeat": "three"},
    ],
)
def test_a_scenario_with_a_mistake_does_not(change: dict[str, Any]) -> None:
    good = {
        "name": "a",
        "about": "b",
        "expect": {},
        "timeline": [{"at": "1s", "fault": "down", "with": {"link": "ha"}}],
    }
    assert complaints(of_scenarios.NAME, good) == []
    assert complaints(of_scenarios.NAME, good | change) != []


def test_files_of_options_keep_theirs() -> None:
    (path,) = ROOT.glob("examples/*/pairproof.toml")
    written = tomllib.loads(path.read_text())
    assert complaints("pairproof.schema.json", written) == []
    assert complaints("pairproof.schema.json", {"strangers-command": {"any": 1}}) == []
    for wrong in ({"check": {"trails": 3}}, {"check": {"trials": "many"}}, {"check": {"profile": "qick"}}):
        assert complaints("pairproof.schema.json", wrong) != []


def test_cases_keep_theirs() -> None:
    assert len(CASES) >= 2
    for path in CASES:
        case = json.loads(path.read_text())
        assert complaints("case.schema.json", case) == [], path
        wrong = copy.deepcopy(case)
        wrong["schedule"]["ops"].append(["send"])
        assert complaints("case.schema.json", wrong) != []
