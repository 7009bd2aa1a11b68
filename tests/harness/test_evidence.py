"""Few trials of the searches are told before the verdict; what they did not play is named."""

from __future__ import annotations

import pytest

from pairproof.harness.exploration import evidence
from pairproof.harness.exploration.evidence import FEW, Evidence
from pairproof.harness.judging.verdict import Verdict

FACTS = {"drawn": ["wipe", "kill", "stall"]}


def of(trials: int, corpus: int = 0) -> Evidence:
    return evidence.of(FACTS, {"corpus": corpus, "shrink": 30, "sweep": trials}, {"kill": 1})


@pytest.mark.parametrize(("trials", "little"), [(FEW - 1, True), (FEW, False)])
def test_trials_of_the_corpus_and_of_shrinking_do_not_count(trials: int, little: bool) -> None:
    assert of(trials, 37).is_little is little


def test_faults_that_never_began_are_told_from_those_without_effect() -> None:
    found = evidence.of(FACTS, {"sweep": 6}, {"kill": 3, "stall": 0})
    assert (found.not_played, found.without_effect) == (("wipe",), ("stall",))
    assert found.untried == "not played: wipe; without effect: stall"
    assert evidence.of({}, {"sweep": 6}, {"kill": 3}).untried == "", "an older run does not say what it may draw"


def test_run_of_scenarios_is_exempt() -> None:
    found = evidence.of({"scenarios": [{"name": "x"}]}, {"scenario": 1}, {"stall": 0})
    assert not found.is_little and found.trials is None and found.untried == ""


def test_headline_of_a_single_run_starts_with_its_trials() -> None:
    assert evidence.headline("All holds.", Verdict.HOLDS, {"r": of(6)}) == ("6 trials only. All holds.", True)
    assert evidence.headline("All holds.", Verdict.HOLDS, {"r": of(1, 37)}) == (
        "1 trial only, beside 37 of the fixed corpus. All holds.", True,
    )  # fmt: skip
    assert evidence.headline("All holds.", Verdict.HOLDS, {"r": of(FEW)}) == ("All holds.", False)


def test_unknown_stays_unknown_and_a_violation_needs_no_more_trials() -> None:
    assert evidence.headline("Unsure.", Verdict.UNKNOWN, {"r": of(6)}) == ("6 trials only. Unsure.", False)
    assert evidence.headline("Bad.", Verdict.VIOLATED, {"r": of(6)}) == ("Bad.", False)


def test_each_run_of_few_trials_is_named_among_several() -> None:
    found = {f"r{number}": of(number) for number in (3, 4)} | {"large": of(900)}
    assert evidence.headline("Fine.", Verdict.HOLDS, found).text == "3 trials only in r3; 4 trials only in r4. Fine."
    many = {f"r{number}": of(3) for number in range(9)}
    assert evidence.headline("Fine.", Verdict.HOLDS, many).text.endswith("3 trials only in r4; and 4 more. Fine.")
