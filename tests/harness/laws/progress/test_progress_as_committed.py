"""Tests of ``progress-as-committed``."""

from histories import assert_broken, assert_holds, assert_vacuous
from histories.consumers import consuming

from pairproof.harness.rocketmq.laws.progress.progress_as_committed import ProgressAsCommitted


def test_progress_is_one_that_was_committed() -> None:
    assert_holds(ProgressAsCommitted, consuming().come().commit(3).commit(5).progress(3))
    assert_holds(ProgressAsCommitted, consuming().come().commit(3, phase="info").progress(3, "slave"))
    for history in (consuming().come(), consuming().come().commit(3), consuming().come().pull(0)):
        assert_broken(ProgressAsCommitted, history.progress(0), "master has G at 0 of T/0, which was never committed")
    assert_broken(ProgressAsCommitted, consuming().come().commit(3).progress(4, "slave"), "slave has G at 4 of T/0")


def test_progress_of_unknown_groups_is_not_judged() -> None:
    assert_vacuous(ProgressAsCommitted, consuming().progress(4))
    assert_vacuous(ProgressAsCommitted, consuming().come().progress(4, group="other"))
    assert_vacuous(ProgressAsCommitted, consuming().come().progress(None))
