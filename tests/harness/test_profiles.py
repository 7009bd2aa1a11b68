"""Profiles give every search a share of a bound, and what a search leaves over goes to those after it."""

from __future__ import annotations

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.exploration.budget import Budget
from pairproof.harness.exploration.profiles import ALL, PROFILES, PROOF, REAL, default, profile
from pairproof.harness.exploration.slices import enumerated, seeded
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.trials import resolve

SIM = resolve.lab("sim")
ENUMERATED, SEEDED = enumerated(SYSTEM), seeded(SYSTEM).keys() - {"fault-pairs"}
SEARCHES = {*ENUMERATED, *SEEDED, "machine"}


@pytest.mark.parametrize("name", sorted(PROFILES.keys() - {REAL, PROOF, "known-bugs"}))
def test_every_profile_runs_every_search_and_spends_all_of_its_time(name: str) -> None:
    found = profile(name)
    assert (
        set(found.shares) == SEARCHES | ({"fault-pairs"} if name == "fault-pairs" else set())
        and min(found.shares.values()) > 0
    )
    assert sum(found.shares.values()) == pytest.approx(1)


def test_the_profile_for_real_time_begins_with_every_single_fault_and_enumerates_no_moments() -> None:
    found = profile(REAL)
    assert next(iter(found.shares)) == "sweep" and set(found.shares) == {"sweep", "known-bugs", *SEEDED, "machine"}
    assert sum(found.shares.values()) == pytest.approx(1)
    assert (default(True), default(False)) == ("quick", REAL)


def test_the_job_s_profile_is_the_machine_alone_a_fixed_number_of_trials_in_any_lab() -> None:
    found = profile(PROOF)
    assert set(found.shares) == set(found.counts) == {"machine"} and found.seconds is None
    assert found.has_minimums and 20 <= SYSTEM.minimums.trials["machine"] <= found.counts["machine"]
    # Spark measures every history.
    assert found.keep_one_in == 1
    assert (
        Budget.of(found, resolve.lab("process")).allowance("machine", 0, lambda: 0.0).trials == found.counts["machine"]
    )


def test_the_profile_of_known_bugs_is_that_search_alone_and_for_no_lab_without_it() -> None:
    found = Budget.of(profile("known-bugs"), resolve.lab("process"), trials=200)
    assert found.of_searches({"sweep", "known-bugs"}).allowance("known-bugs", 0, lambda: 0.0).trials == 200
    with pytest.raises(UsageError, match="known-bugs is for the process and docker labs, not for sim; take another"):
        Budget.of(profile("known-bugs"), SIM, trials=200)


def test_quick_takes_the_seconds_that_the_readme_promises_and_ci_every_enumerated_schedule() -> None:
    assert (profile("quick").seconds, profile("ci").seconds) == (30, None)
    counts = profile("ci").counts
    assert set(counts) == SEARCHES and all(counts[origin] == ALL for origin in ENUMERATED)
    assert max(counts[origin] for origin in counts if origin not in ENUMERATED) < 10_000


def test_an_unknown_profile_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(UsageError, match="unknown profile 'eternal'; valid: quick, ci, deep, fault-pairs, real, known"):
        profile("eternal")


def test_time_that_a_search_leaves_over_goes_to_the_next() -> None:
    budget = Budget.of(profile("quick"), SIM, seconds=1_000)
    given = {origin: budget.allowance(origin, 0, lambda: 0.0).until for origin in budget.shares}
    # No search took any time, so the last one is offered all of it.
    assert (
        set(given) == SEARCHES
        and given["sweep"] == pytest.approx(1_000 * 0.15 / 0.95)
        and given["machine"] == pytest.approx(1_000)
    )
    assert budget.allowance("machine", 0, lambda: 400.0).until == pytest.approx(1_000)


def test_trials_that_a_search_leaves_over_go_to_the_next_and_none_are_lost() -> None:
    budget = Budget.of(profile("quick"), SIM, trials=1_000)
    spent = 0
    for origin in budget.shares:
        allowed = budget.allowance(origin, spent, lambda: 1e9).more()
        assert allowed > 0
        # The second search had only half as much to do.
        spent += allowed // 2 if origin == "truncation" else allowed
    assert spent == 1_000
    assert budget.allowance("sweep", 0, lambda: 0.0).trials == 158


def test_an_allowance_in_time_allows_one_trial_however_late_it_is() -> None:
    allowance = Budget.of(profile("quick"), SIM, seconds=5).allowance("swarm", 0, lambda: 7.0)
    assert allowance.begin() and not allowance.begin()


def test_trials_within_a_time_end_with_whichever_bound_comes_first() -> None:
    budget = Budget.of(profile("quick"), SIM, seconds=5, trials=100)
    assert (budget.demanded, budget.words) == (100, "the clock or the number of trials")
    early, late = (budget.allowance("sweep", 0, lambda now=now: now) for now in (1.0, 6.0))
    assert [early.begin(50), late.begin(1), late.begin(1)] == [16, 1, 0]
    assert Budget.of(profile("quick"), SIM, trials=100).demanded is None
