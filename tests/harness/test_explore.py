"""An exploration finds what is broken, makes it small and replayable, and leaves the correct pair in peace."""

from __future__ import annotations

from collections import Counter

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from pairproof.harness import conformance, resolve
from pairproof.harness.errors import UsageError
from pairproof.harness.explore import MAX_FINDINGS_PER_LAW, Explorer
from pairproof.harness.interpreter import run_trial
from pairproof.harness.profiles import profile
from pairproof.harness.trial import Trial
from pairproof.harness.verdict import Verdict

SIM = resolve.lab("sim")
QUICK = profile("quick")
BRIEFLY = hypothesis.settings(
    max_examples=100,
    stateful_step_count=10,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(hypothesis.Phase.generate,),
)


def test_reference_is_clean_and_nearly_every_law_was_exercised() -> None:
    summary = conformance.run("reference", seconds=8, seed="clean")
    assert summary.findings == []
    # How many trials eight seconds are is the machine's business: a few laws may have had nothing to judge.
    verdicts = Counter(summary.verdicts.values())
    assert set(verdicts) <= {Verdict.HOLDS, Verdict.VACUOUS} and verdicts[Verdict.VACUOUS] < 15
    assert set(summary.by_origin) == {"sweep", "cuts", "whole", "swarm", "machine"}


def test_an_exploration_says_how_much_of_its_enumerated_searches_it_did() -> None:
    summary = conformance.run("reference", seconds=0.5, seed="told", laws=[])
    assert set(summary.totals) == {"sweep", "cuts"} and not summary.complete("sweep")
    told = dict(each.rsplit(": ", 1) for each in summary.enumerated())
    assert told["cut points"] == f"{summary.by_origin['cuts']:,} of {summary.totals['cuts']:,}, cut short by the clock"
    whole = summary._replace(by_origin=summary.totals)
    assert whole.complete("cuts") and whole.enumerated()[1] == f"cut points: {summary.totals['cuts']:,} of " + (
        f"{summary.totals['cuts']:,}"
    )
    counted = sum(count for (_, _, fault), count in summary.coverage.rows().items() if fault == "none")
    assert 0 < counted < summary.events


def test_violation_comes_with_a_small_program_that_violates_again() -> None:
    summary = conformance.run("reference+bare_connection_counts", seconds=5, seed="broken")
    assert summary.verdicts["ack-unavailable-honest"] is Verdict.VIOLATED
    found = [each for each in summary.findings if each.law == "ack-unavailable-honest"]
    assert 0 < len(found) <= MAX_FINDINGS_PER_LAW
    for finding in found:
        assert len(finding.schedule.ops) <= 5 <= finding.original_ops
        again = run_trial(resolve.lab("sim"), resolve.target(finding.target), finding.schedule)
        assert finding.law in {each.law for each in again.judgements if each.verdict is Verdict.VIOLATED}


def test_every_trial_is_handed_over_once_under_its_own_number() -> None:
    trials: list[Trial] = []
    explorer = Explorer(
        resolve.lab("sim"),
        resolve.target("reference+goes_back"),
        profile("quick"),
        "s",
        seconds=1,
        on_trial=trials.append,
    )
    summary = explorer.run()
    numbers = [each.number for each in trials]
    assert len(set(numbers)) == len(numbers) == summary.trials
    assert {each.trial for each in summary.findings} <= set(numbers)
    assert {each.shrunk_trial for each in summary.findings} <= set(numbers)


def test_same_seed_explores_the_same_beginning() -> None:
    def explored(seed: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {"sweep": [], "cuts": [], "whole": [], "swarm": [], "machine": []}

        def taken(trial: Trial) -> None:
            found[trial.origin].append(repr(trial.schedule))

        Explorer(SIM, resolve.target("reference"), QUICK, seed, (), seconds=0.5, on_trial=taken).run()
        return found

    one, again, other = explored("one"), explored("one"), explored("two")
    for origin in ("sweep", "cuts", "whole", "swarm"):
        # How far each came depends on the machine; what came first does not.
        assert all(a == b for a, b in zip(one[origin], again[origin], strict=False))
        assert one[origin][0] != other[origin][0]


def test_state_machine_of_a_test_suite_raises_with_law_and_program() -> None:
    with pytest.raises(AssertionError, match=r"ha-silent-until-asked: .*before the first report"):
        broken = conformance.machine("reference+eager_push", laws=["ha-silent-until-asked"])
        run_state_machine_as_test(broken, settings=BRIEFLY)
    run_state_machine_as_test(conformance.machine("reference"), settings=BRIEFLY)


@pytest.mark.parametrize(
    ("target", "lab", "name", "law", "complaint"),
    [
        ("nobody", "sim", "quick", "contract", "unknown target 'nobody'; valid: reference"),
        ("reference+nothing", "sim", "quick", "contract", "unknown mutant 'nothing'; valid: eager_push"),
        ("reference", "moon", "quick", "contract", "unknown lab 'moon'; valid: docker, process, sim"),
        ("reference", "sim", "eternal", "contract", "unknown profile 'eternal'; valid: quick, ci, deep"),
        ("reference", "sim", "quick", "gravity", "unknown law 'gravity'; valid: ack-bounded"),
    ],
)
def test_unknown_names_are_refused_with_the_valid_ones(
    target: str, lab: str, name: str, law: str, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint.replace("+", r"\+")):
        conformance.run(target, lab, profile=name, laws=[law])
