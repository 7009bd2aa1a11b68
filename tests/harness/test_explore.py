"""An exploration finds what is broken, makes it small and replayable, and leaves the correct pair in peace."""

from __future__ import annotations

from collections import defaultdict

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test
from shaky_lab import ShakyLab

from pairproof.chaos.mutants import catalogue
from pairproof.harness.errors import UsageError
from pairproof.harness.event_types import store
from pairproof.harness.exploration import conformance
from pairproof.harness.exploration.explore import MAX_FINDINGS_PER_LAW, Explorer
from pairproof.harness.exploration.profiles import profile
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.trial import Trial

SIM, REFERENCE = resolve.lab("sim"), resolve.target("reference")
QUICK = profile("quick")
BRIEFLY = hypothesis.settings(
    max_examples=100,
    stateful_step_count=10,
    database=None,
    derandomize=True,
    phases=(hypothesis.Phase.generate,),
)


@pytest.fixture
def no_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is not about the corpus, which takes longer than a hundred trials."""
    monkeypatch.setattr("pairproof.harness.rocketmq.system.RocketMQ.corpus", lambda _: ())


class TrialClock:
    """A clock on which each trial takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def tick(self, trial: Trial) -> None:
        self.now += 1


def test_reference_is_clean_and_every_law_was_exercised_however_little_time_there_is() -> None:
    summary = conformance.run("reference", seconds=0, seed="clean")
    assert summary.findings == []
    unseen = {law.id for law in judge.all_laws() if law.needs & store.KINDS}
    assert {law for law, each in summary.verdicts.items() if each is Verdict.NOT_OBSERVABLE} == unseen
    assert set(summary.verdicts.values()) == {Verdict.HOLDS, Verdict.NOT_OBSERVABLE}
    assert set(summary.by_origin) == {"corpus", "moments", "sweep", "truncation", "cluster", "swarm", "machine"}
    assert all(summary.by_origin[each] == 1 for each in ("moments", "sweep", "truncation", "cluster", "swarm"))
    # The searches had no time to.
    assert any(each.corpus_only for each in summary.standings().values())


def test_a_number_of_trials_is_kept_exactly_and_shared_out() -> None:
    summary = conformance.run("reference", trials=61, seed="n")
    assert sum(summary.by_origin.values()) - summary.by_origin["corpus"] == 61 and summary.findings == []
    assert set(summary.by_origin) == {"corpus", "moments", "sweep", "truncation", "cluster", "swarm", "machine"}
    assert summary.played().endswith(", cut short by the number of trials)")


def test_first_stops_at_the_first_violation_and_shrinks_it() -> None:
    trials: list[Trial] = []
    target = resolve.target("reference+goes_back")
    found = Explorer(SIM, target, QUICK, "s", trials=10_000, first=True, on_trial=trials.append).run()
    broken = [each for each in trials if any(j.verdict is Verdict.VIOLATED for j in each.judgements)]
    # The trial that showed it, and that of the minimal program.
    assert [each.origin == "shrink" for each in broken] == [False, True] and trials[-1] is broken[-1]
    assert {each.trial for each in found.findings} == {broken[0].number}
    assert {each.shrunk_trial for each in found.findings} == {broken[1].number}


@pytest.mark.parametrize("origin", ["moments", "sweep", "truncation", "cluster", "swarm", "machine"])
def test_first_stops_every_search(origin: str, no_corpus: None) -> None:
    only = QUICK._replace(shares={origin: 1.0, "swarm" if origin != "swarm" else "sweep": 1.0})
    mutant = catalogue()["ends_dispatch" if origin == "moments" else "acks_at_once"]
    target, laws = resolve.target(f"reference+{mutant.name}"), judge.laws([mutant.law])
    found = Explorer(SIM, target, only, "s", laws, trials=2_000, first=True).run()
    assert len(found.findings) == 1 and set(found.by_origin) == {origin, "shrink"}


def test_a_profile_that_counts_plays_its_counts(no_corpus: None) -> None:
    counts = {"moments": 2, "sweep": 3, "truncation": 2, "cluster": 1, "swarm": 4, "machine": 5}
    found = Explorer(SIM, resolve.target("reference"), profile("ci")._replace(counts=counts), "s", ()).run()
    assert {**found.by_origin, "corpus": 0} == {**counts, "corpus": 0}


def test_a_profile_that_counts_thousands_is_refused_where_each_takes_seconds() -> None:
    lab = ShakyLab("reference", 1)
    with pytest.raises(UsageError, match="profile ci counts thousands of trials, and shaky needs seconds for each"):
        Explorer(lab, resolve.target("reference"), profile("ci"), "s")
    assert Explorer(lab, resolve.target("reference"), profile("ci"), "s", trials=1).budget.counts is None


def test_an_exploration_says_how_much_of_its_enumerated_searches_it_did(no_corpus: None) -> None:
    clock = TrialClock()
    summary = Explorer(SIM, REFERENCE, QUICK, "told", (), seconds=50, clock=clock, on_trial=clock.tick).run()
    assert set(summary.totals) == {"moments", "sweep", "truncation"} and not summary.complete("sweep")
    told = summary.played()
    assert f"truncation points {summary.by_origin['truncation']:,} of {summary.totals['truncation']:,}, " in told
    assert told.endswith(", cut short by the clock)")
    whole = summary._replace(by_origin=summary.totals)
    assert whole.complete("truncation") and "cut short" not in whole.played()
    none = summary._replace(totals={"truncation": 0}, by_origin={}).played()
    assert "truncation points none here" in none and "cut short" not in none
    counted = sum(count for (_, _, fault), count in summary.coverage.rows().items() if fault == "none")
    assert 0 < counted < summary.events


def test_searches_share_the_seconds_that_the_clock_tells(no_corpus: None) -> None:
    clock = TrialClock()
    summary = Explorer(SIM, REFERENCE, QUICK, "s", (), seconds=100, clock=clock, on_trial=clock.tick).run()
    # The corpus is not counted, and each search has its share; Hypothesis ends a batch when it likes.
    shares = {
        origin: count
        for origin, count in summary.by_origin.items()
        if origin in ("moments", "sweep", "truncation", "cluster", "swarm")
    }
    assert (
        shares == {"moments": 5, "sweep": 15, "truncation": 5, "cluster": 50, "swarm": 20}
        and summary.by_origin["machine"] >= 5
    )
    assert summary.seconds == summary.trials


def test_violation_comes_with_a_small_program_that_violates_again(no_corpus: None) -> None:
    summary = conformance.run("reference+bare_connection_counts", trials=100, seed="broken")
    assert summary.verdicts["ack-unavailable-honest"] is Verdict.VIOLATED
    found = [each for each in summary.findings if each.law == "ack-unavailable-honest"]
    assert 0 < len(found) <= MAX_FINDINGS_PER_LAW
    for finding in found:
        assert len(finding.schedule.ops) <= 5 <= finding.original_ops
        again = run_trial(resolve.lab("sim"), resolve.target(finding.target), finding.schedule)
        assert finding.law in {each.law for each in again.judgements if each.verdict is Verdict.VIOLATED}


def test_every_trial_is_handed_over_once_under_its_own_number(no_corpus: None) -> None:
    trials: list[Trial] = []
    target = resolve.target("reference+goes_back")
    summary = Explorer(SIM, target, QUICK, "s", trials=50, on_trial=trials.append).run()
    numbers = [each.number for each in trials]
    assert len(set(numbers)) == len(numbers) == summary.trials
    assert {each.trial for each in summary.findings} <= set(numbers)
    assert {each.shrunk_trial for each in summary.findings} <= set(numbers)


def test_same_seed_explores_the_same(no_corpus: None) -> None:
    def explored(seed: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)

        def taken(trial: Trial) -> None:
            found[trial.origin].append(repr(trial.schedule))

        Explorer(SIM, REFERENCE, QUICK, seed, (), trials=30, on_trial=taken).run()
        return found

    one, again, other = explored("one"), explored("one"), explored("two")
    assert one == again
    for origin in ("moments", "sweep", "truncation", "cluster", "swarm"):
        assert one[origin][0] != other[origin][0]


def test_state_machine_of_a_test_suite_raises_with_law_and_program() -> None:
    with pytest.raises(AssertionError, match=r"ha-silent-until-asked: .*before the first report"):
        broken = conformance.machine("reference+eager_push", laws=["ha-silent-until-asked"])
        run_state_machine_as_test(broken, settings=BRIEFLY)
    run_state_machine_as_test(conformance.machine("reference"), settings=hypothesis.settings(BRIEFLY, max_examples=15))


@pytest.mark.parametrize(
    ("target", "lab", "name", "law", "complaint"),
    [
        ("nobody", "sim", "quick", "contract", "unknown target 'nobody'; valid: reference"),
        ("reference+nothing", "sim", "quick", "contract", "unknown mutant 'nothing'; "),
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
