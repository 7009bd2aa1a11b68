"""Profiles give every search a share, and what a search leaves over goes to those after it."""

from __future__ import annotations

import pytest

from pairproof.harness import resolve
from pairproof.harness.errors import UsageError
from pairproof.harness.explore import ENUMERATED, SEEDED, Explorer
from pairproof.harness.profiles import PROFILES, REAL, default, profile

SEARCHES = {*ENUMERATED, *SEEDED, "machine"}


@pytest.mark.parametrize("name", sorted(PROFILES.keys() - {REAL}))
def test_every_profile_runs_every_search_and_spends_all_of_its_time(name: str) -> None:
    found = profile(name)
    assert set(found.shares) == SEARCHES and min(found.shares.values()) > 0
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.must_not_be_vacuous


def test_the_profile_for_real_time_enumerates_nothing_and_forbids_no_law_to_be_vacuous() -> None:
    found = profile(REAL)
    assert set(found.shares) == {*SEEDED, "machine"} and sum(found.shares.values()) == pytest.approx(1)
    assert not found.must_not_be_vacuous and (default(True), default(False)) == ("quick", REAL)


def test_seconds_of_quick_and_ci_are_those_that_the_readme_promises() -> None:
    assert (profile("quick").seconds, profile("ci").seconds) == (30, 150)


def test_an_unknown_profile_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(UsageError, match="unknown profile 'eternal'; valid: quick, ci, deep, real"):
        profile("eternal")


def test_time_that_a_search_leaves_over_goes_to_the_next() -> None:
    explorer = Explorer(resolve.lab("sim"), resolve.target("reference"), profile("quick"), "s", (), seconds=1_000)
    given: dict[str, float] = {}

    def search(origin: str, seconds: float) -> None:
        given[origin] = seconds

    explorer._enumerated = explorer._seeded = explorer._machine = search  # type: ignore[method-assign]
    explorer.run()
    # No search took any time, so the last one is offered all of it.
    assert list(given) == list(profile("quick").shares) and set(given) == SEARCHES
    first, *_, last = given.values()
    assert first == pytest.approx(1_000 * profile("quick").shares["sweep"], rel=0.01)
    assert last == pytest.approx(1_000, rel=0.01)
