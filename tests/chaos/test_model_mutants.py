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
from pairproof.harness.event_types.node import UNKNOWN
from pairproof.harness.judging.judge import all_laws, judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.known.nodes import Nodes
from pairproof.harness.rocketmq.known.stores import Stores
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

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


@pytest.mark.parametrize("name", model_mutants.RARE)
def test_a_program_needs_an_excuse_that_searches_hardly_ever_need(name: str) -> None:
    alarms, program = partial(mutants.violated, SIM, REFERENCE), model_mutants.RARE[name]
    dropped = next(each for each in model_mutants.EXCUSES if each.name == name)
    assert not alarms(program)
    assert mutants_model.excuse(dropped, [program], alarms).noticed


def test_a_pair_whose_log_ends_no_lab_sees_needs_what_the_model_knows_of_power_losses() -> None:
    send, flushed_late = Op("send", {"size": 10}), {"flushIntervalCommitLog": 20_000}
    ops = (send, send, Op("advance", {"ms": 300}), model_mutants.POWER_LOSS, Op("heal", {"name": "power_loss"}))
    program = Schedule(
        flushed_late, "dark", (*ops, Op("advance", {"ms": 1_500}), send, Op("advance", {"ms": 500}), send)
    )
    unseen = {"append", "flush", "dispatch"}
    events = [
        each._replace(f=UNKNOWN, lo=None, hi=None) if each.kind == "start" and each.t else each
        for each in run_trial(SIM, REFERENCE, program).events
        if each.kind not in unseen
    ]

    def accused() -> set[str]:
        judged = judge(events, all_laws(), SIM.observes(REFERENCE) - unseen)
        return {each.law for each in judged if each.verdict is Verdict.VIOLATED}

    assert not accused()
    with ModelMutant("no machine loses power", Nodes, "lost_power", lambda *_: False).applied():
        assert {"stored-as-sent", "loss-is-suffix", "queue-dense", "log-prefix"} <= accused()


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
