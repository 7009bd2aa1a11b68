"""Tests of ``progress-broadcast``."""

from histories import Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import orderly

from pairproof.harness.rocketmq.laws.progress.progress_broadcast import ProgressBroadcast


def test_a_broadcasting_member_keeps_its_progress_to_itself() -> None:
    def member(f: str = "broadcasting") -> Story:
        history = orderly("m0", f=f)
        history.take(None).pull(0, "m0")
        return history

    assert_holds(ProgressBroadcast, member())
    assert_broken(ProgressBroadcast, member().commit(1), "commits 1 of T/0 to master itself")
    assert_broken(ProgressBroadcast, member().commit(1, carried=True), "commits 1 of T/0 to master on a pull")
    assert_vacuous(ProgressBroadcast, member("orderly").commit(1))
