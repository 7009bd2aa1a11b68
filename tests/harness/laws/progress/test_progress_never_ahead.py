"""Tests of ``progress-never-ahead``."""

import pytest
from histories import assert_broken, assert_holds, assert_vacuous
from histories.consumers import consuming, grouped

from pairproof.harness.rocketmq.laws.progress.progress_never_ahead import ProgressNeverAhead


def test_a_group_commits_at_most_what_it_was_given() -> None:
    assert_holds(ProgressNeverAhead, grouped("m0", "m1").pull(0, "m0", "m1").commit(2).query(2).progress(2).progress(1))
    assert_holds(ProgressNeverAhead, grouped("m0").pull(0, then=1).commit(1))
    assert_holds(ProgressNeverAhead, consuming().come().take(None, start=7).commit(7))


def test_a_higher_commit_is_caught() -> None:
    assert_broken(
        ProgressNeverAhead, grouped("m0", "m1").pull(0, "m0").commit(2),
        "G commits 2 of T/0, and was given 1 at most",
    )  # fmt: skip


@pytest.mark.parametrize("node", ["master", "slave"])
def test_no_broker_reports_more_than_was_committed(node: str) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(1)
    assert_broken(
        ProgressNeverAhead, history.query(2, node), f"{node} reports that G is at 2 of T/0; it committed 1 at most"
    )
    tabled = grouped("m0", "m1").pull(0, "m0", "m1").progress(2, node)
    assert_broken(ProgressNeverAhead, tabled, f"{node} reports that G is at 2 of T/0; it committed nothing")


def test_a_group_that_never_committed_is_at_0_or_nowhere() -> None:
    assert_holds(ProgressNeverAhead, grouped("m0").query(0).progress(0))
    assert_broken(ProgressNeverAhead, consuming().come().query(3), "G is at 3 of T/0; it committed nothing")
    assert_vacuous(ProgressNeverAhead, grouped("m0").query(None).progress(None).progress(5, group="unheard-of"))


def test_another_broker_name_s_progress_is_another_one() -> None:
    assert_vacuous(ProgressNeverAhead, grouped("m0").commit(9, "other").query(9, "other").progress(9, "other"))
