"""The bugs that users of RocketMQ met still fit the reference, and their table is whole; playing them takes minutes."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from pairproof.harness.judging import judge
from pairproof.harness.trials import resolve

ROOT = Path(__file__).resolve().parents[2]
BUGS = sorted((ROOT / "tests" / "realistic").glob("*.patch"))


@pytest.fixture(scope="module")
def control() -> ModuleType:
    path = ROOT / "tests" / "control" / "control_realistic.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_bug_applies_to_the_reference_and_leaves_python(control: ModuleType, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "reference", tmp_path / "reference", ignore=shutil.ignore_patterns("__pycache__"))
    for patch in BUGS:
        control.apply(patch, tmp_path)
        changed = re.findall(r"^\+\+\+ b/(.+)$", patch.read_text(encoding="utf-8"), re.MULTILINE)
        assert changed
        for each in changed:
            before, after = (ROOT / each).read_text(encoding="utf-8"), (tmp_path / each).read_text(encoding="utf-8")
            assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(after)), patch.name
        control.apply(patch, tmp_path, "--reverse")


def test_every_bug_says_where_it_was_met(control: ModuleType) -> None:
    for patch in BUGS:
        head = patch.read_text(encoding="utf-8").splitlines()[0]
        assert re.fullmatch(r"upstream: .+ \| area: .+ \| users saw: .+ \| faithful: .+", head), patch.name


def test_the_stored_verdicts_are_of_these_bugs_and_of_laws_that_there_are(control: ModuleType) -> None:
    found = json.loads(control.FOUND.read_text(encoding="utf-8"))
    assert list(found) == [patch.stem for patch in BUGS]
    ids = {law.id for law in judge.laws_for(resolve.target("reference"))}
    assert {law for law in found.values() if law} <= ids


def test_a_hunt_ends_at_the_first_violation_and_finds_none_without_a_bug(control: ModuleType) -> None:
    caught, clean = (control.play("test", 3, "quick", each) for each in ("reference+loses_first_frame", "reference"))
    assert caught["law"] and caught["trials"] < clean["trials"] and not clean["law"]
