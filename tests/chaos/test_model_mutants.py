"""Excuses and facts of the model: what notices that one of them is gone, and what does not."""

from __future__ import annotations

import json
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from pairproof.chaos import model_mutants
from pairproof.chaos.commands import mutants, mutants_model
from pairproof.chaos.model_mutants import ModelMutant
from pairproof.chaos.mutants import catalogue
from pairproof.harness.rocketmq.known.stores import Stores
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Schedule

SIM, REFERENCE = resolve.lab("sim"), resolve.target("reference")


def first(trials: int) -> list[Schedule]:
    return [schedule for _, schedule in islice(mutants.schedules(SIM, REFERENCE, "mutants"), trials)]


def test_a_dropped_excuse_is_noticed_by_the_laws_that_accuse_the_reference() -> None:
    alarms = partial(mutants.violated, SIM, REFERENCE)
    dropped = next(each for each in model_mutants.EXCUSES if each.name == "Stores.wiped")
    found = mutants_model.excuse(dropped, first(20), alarms)
    assert found.noticed and "contract" in found.laws
    kept = ModelMutant("nothing changes", Stores, "wiped", Stores.wiped)
    assert not mutants_model.excuse(kept, first(found.trials), alarms).noticed


def test_a_falsified_fact_lets_a_known_bug_survive() -> None:
    false = next(each for each in model_mutants.FACTS if each.shown_by == "acks_at_once")
    law = catalogue()["acks_at_once"].law
    fails = mutants.fails_by(SIM, resolve.target("reference+acks_at_once"), law)
    program = next(schedule for schedule in first(20) if fails(schedule))
    assert mutants_model.fact(false, law, 1, partial(fails, program)).noticed
    assert fails(program)


def test_the_score_names_what_nobody_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [mutants_model.Noticed(name, "does it", name == "a", 3, []) for name in "ab"]
    into = tmp_path / "score.json"
    assert mutants_model.report(rows, str(into)) == 1
    assert "1 of 2 mutants of the model noticed" in capsys.readouterr().out
    assert [each["noticed"] for each in json.loads(into.read_text(encoding="utf-8"))] == [True, False]
    assert mutants_model.report(rows[:1], None) == 0


def test_each_replaces_a_method_of_the_model() -> None:
    gone = [
        each.name for each in (*model_mutants.EXCUSES, *model_mutants.FACTS) if not hasattr(each.owner, each.method)
    ]
    assert not gone


def test_each_fact_has_a_mutant_of_the_reference() -> None:
    assert all(each.shown_by in catalogue() for each in model_mutants.FACTS)
    every = (*model_mutants.EXCUSES, *model_mutants.FACTS)
    assert len({each.name for each in every}) == len(every)
